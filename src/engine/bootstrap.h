// JavaScript that the image is made with, before any script: a console, and locale methods that refuse what they would
// ignore.
#pragma once

#include <string_view>

namespace heddle::engine {

/// Evaluates to a function of `write(text, level)`, which hands a line to the host and gives back how much the host
/// still takes. A script can change every built-in, so what is needed later is kept in constants; of a script's own
/// code only the traps of a proxy are run. A line is made within the room that is left, so that it costs no more than
/// what can be shown of it, and whatever goes wrong meanwhile is dropped: a console changes no outcome.
inline constexpr std::string_view kBootstrap = R"js((function (write) {
  'use strict';
  delete JSON.rawJSON;
  delete JSON.isRawJSON;

  const { apply, defineProperty, getOwnPropertyDescriptor: own, getPrototypeOf, ownKeys } = Reflect;
  const { stringify } = JSON, { isArray } = Array, { isError } = Error, text = String, number = Number, { trunc } = Math;
  const slice = String.prototype.slice, exec = RegExp.prototype.exec, symbolText = Symbol.prototype.toString;
  const dateText = Date.prototype.toISOString, regexpText = RegExp.prototype.toString;
  const eachOfMap = Map.prototype.forEach, eachOfSet = Set.prototype.forEach;
  const typed = getPrototypeOf(Uint8Array.prototype);
  const typedName = own(typed, Symbol.toStringTag).get, typedLength = own(typed, 'length').get;
  const stackOf = own(Error.prototype, 'stack')?.get;
  const word = /^[A-Za-z_$][A-Za-z0-9_$]{0,99}$/;
  const DEPTH = 5, ITEMS = 200;
  let left = 65536;

  const cut = (string, room) => string.length > room ? apply(slice, string, [0, room]) : string;
  function put(out, string) {
    string = cut(string, out.room);
    out.room -= string.length;
    out.text += string;
  }
  // Data only: no getter is run.
  function read(object, key) {
    for (let steps = 0; object !== null && steps < 16; object = getPrototypeOf(object), steps++) {
      const property = own(object, key);
      if (property !== undefined) return property.value;
    }
  }
  function brand(method, object, argument) {
    try { return { result: apply(method, object, argument === undefined ? [] : [argument]) }; } catch { return null; }
  }
  function member(out, property, up) {
    if (property === undefined) put(out, 'empty');
    else if (property.get !== undefined || property.set !== undefined) put(out, '[accessor]');
    else show(out, property.value, up);
  }
  function list(out, count, item) {
    put(out, '[');
    for (let i = 0; i < count && out.room > 0; i++) {
      if (i > 0) put(out, ', ');
      if (i === ITEMS) { put(out, '… ' + (count - i) + ' more'); break; }
      item(i);
    }
    put(out, ']');
  }
  function entries(out, name, method, object, up) {
    let shown = 0;
    const each = (value, key) => {
      if (shown++ >= ITEMS || out.room <= 0) return;
      if (shown > 1) put(out, ', ');
      if (name === 'Map') { show(out, key, up); put(out, ' => '); }
      show(out, value, up);
    };
    const before = out.text.length;
    put(out, name + ' {');
    if (brand(method, object, each) !== null) { put(out, '}'); return true; }
    out.room += out.text.length - before;
    out.text = apply(slice, out.text, [0, before]);
    return false;
  }
  function showError(out, error, up) {
    const name = read(error, 'name'), message = read(error, 'message');
    put(out, typeof name === 'string' ? name : 'Error');
    if (typeof message === 'string' && message !== '') { put(out, ': '); put(out, message); }
    const stack = stackOf === undefined ? null : brand(stackOf, error);
    if (stack !== null && typeof stack.result === 'string') { put(out, '\n'); put(out, stack.result); }
    const cause = read(error, 'cause');
    if (cause !== undefined) { put(out, '\ncause: '); show(out, cause, up); }
  }
  function showObject(out, object, up) {
    for (let outer = up.up; outer !== null; outer = outer.up) {
      if (outer.object === object) return put(out, '[circular]');
    }
    if (up.depth > DEPTH) return put(out, isArray(object) ? '[…]' : '{…}');
    if (isError(object)) return showError(out, object, up);
    if (isArray(object)) return list(out, read(object, 'length'), i => member(out, own(object, i), up));
    const name = apply(typedName, object, []);
    if (name !== undefined) {
      put(out, name + ' ');
      return list(out, apply(typedLength, object, []), i => put(out, text(object[i])));
    }
    const date = brand(dateText, object);
    if (date !== null) return put(out, date.result);
    if (entries(out, 'Map', eachOfMap, object, up) || entries(out, 'Set', eachOfSet, object, up)) return;
    const keys = ownKeys(object);
    let shown = 0;
    put(out, '{');
    for (let i = 0; i < keys.length && out.room > 0; i++) {
      const key = keys[i], property = own(object, key);
      if (property === undefined || !property.enumerable) continue;
      if (shown++ > 0) put(out, ', ');
      if (shown > ITEMS) { put(out, '…'); break; }
      if (typeof key === 'symbol') put(out, '[' + apply(symbolText, key, []) + ']');
      else put(out, apply(exec, word, [key]) !== null ? key : stringify(cut(key, out.room)));
      put(out, ': ');
      member(out, property, up);
    }
    put(out, '}');
  }
  function show(out, value, up) {
    switch (typeof value) {
      case 'string': return put(out, up === null ? value : stringify(cut(value, out.room)));
      case 'symbol': return put(out, apply(symbolText, value, []));
      case 'bigint': return put(out, value + 'n');
      case 'function': return put(out, '[function ' + cut(text(read(value, 'name')), 100) + ']');
      case 'number': return put(out, value === 0 && 1 / value < 0 ? '-0' : value + '');
      case 'object':
        if (value === null) return put(out, 'null');
        return showObject(out, value, { object: value, up, depth: up === null ? 1 : up.depth + 1 });
      default: return put(out, value + '');
    }
  }
  // %s %d %i %f %j %o %O %c of the first argument; gives back how many arguments are used up.
  function format(out, args) {
    const form = args[0];
    let used = 1, from = 0;
    for (let at = 0; at < form.length - 1 && out.room > 0; at++) {
      if (form[at] !== '%') continue;
      const kind = form[at + 1];
      if (kind !== '%' && (used >= args.length || apply(exec, /^[sdifjoOc]$/, [kind]) === null)) continue;
      put(out, apply(slice, form, [from, at]));
      from = at + 2;
      at++;
      if (kind === '%') { put(out, '%'); continue; }
      const value = args[used++];
      const plain = typeof value === 'object' && value !== null || typeof value === 'symbol' ? NaN : value;
      if (kind === 's') show(out, value, null);
      else if (kind === 'd' || kind === 'f') put(out, text(number(plain)));
      else if (kind === 'i') put(out, text(trunc(number(plain))));
      else if (kind !== 'c') show(out, value, { object: null, up: null, depth: 0 });
    }
    put(out, apply(slice, form, [from]));
    return used;
  }
  function say(level, args) {
    if (left <= 0) return;
    const out = { text: '', room: left };
    try {
      let at = args.length > 1 && typeof args[0] === 'string' ? format(out, args) : 0;
      for (let first = at === 0; at < args.length; at++, first = false) {
        if (!first) put(out, ' ');
        show(out, args[at], null);
      }
    } catch {}
    left = write(out.text, level);
  }
  const console = {
    log(...args) { say(0, args); },
    info(...args) { say(1, args); },
    warn(...args) { say(2, args); },
    error(...args) { say(3, args); },
    debug(...args) { say(4, args); },
  };
  defineProperty(globalThis, 'console', { value: console, writable: true, configurable: true });

  // There are no locales and no time zones: an argument that asks for one is refused, since the answer would be wrong.
  function refuse(object, name, at) {
    const property = own(object, name) ?? { value: object[name], writable: true, enumerable: false, configurable: true };
    const method = property.value;
    const wrapped = { [name](...args) {
      for (let i = at; i < args.length; i++) {
        if (args[i] === undefined) continue;
        throw new RangeError(name + ': locales, time zones and their options are not there; call it without them, or ' +
          'write the form yourself (toISOString, toFixed, padStart)');
      }
      return apply(method, this, args);
    } }[name];
    defineProperty(wrapped, 'length', { value: method.length, configurable: true });
    defineProperty(object, name, { ...property, value: wrapped });
  }
  for (const object of [Date.prototype, Number.prototype, BigInt.prototype, Array.prototype, typed]) {
    refuse(object, 'toLocaleString', 0);
  }
  refuse(Date.prototype, 'toLocaleDateString', 0);
  refuse(Date.prototype, 'toLocaleTimeString', 0);
  refuse(String.prototype, 'toLocaleLowerCase', 0);
  refuse(String.prototype, 'toLocaleUpperCase', 0);
  refuse(String.prototype, 'localeCompare', 1);
}))js";

}  // namespace heddle::engine
