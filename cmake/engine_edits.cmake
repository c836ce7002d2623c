# Mends, in the C that wasm2c makes of the pinned engine, what the engine does otherwise than the language's standard.
# Each edit names the text that it expects; where that is not there exactly once nothing is written and the build fails,
# so that another engine is never edited by accident. docs/adr/0005-engine.md says why it is done here.
#
#   cmake -DSOURCE=FILE -DDESTINATION=FILE -P engine_edits.cmake
#
# A value's upper half is its tag: 4294967289 (-7) a string, 4294967290 (-6) a rope, which is a string that was joined and
# not yet copied together; 6 an exception. w2c_p0 is the context, or the parser's state.
file(READ "${SOURCE}" text)

function(edit why old new)
  string(FIND "${text}" "${old}" first)
  string(FIND "${text}" "${old}" last REVERSE)
  if(first EQUAL -1 OR NOT first EQUAL last)
    message(FATAL_ERROR "${SOURCE} is not the C that the edit '${why}' was written for: its text is not there exactly "
      "once. Was the engine or wasm2c changed? Then go through cmake/engine_edits.cmake anew.")
  endif()
  string(REPLACE "${old}" "${new}" edited "${text}")
  set(text "${edited}" PARENT_SCOPE)
endfunction()

edit("== of a rope and a string compares them as strings"
"      w2c_B12:;
      w2c_i0 = w2c_p1;
      w2c_i1 = w2c_l7;
      w2c_i0 = w2c_i0 == w2c_i1;
      if (w2c_i0) {
        w2c_j0 = w2c_l4;
        w2c_j1 = w2c_l3;
        w2c_i2 = 0u;
        w2c_i0 = w2c_f227(instance, w2c_j0, w2c_j1, w2c_i2);"
"      w2c_B12:;
      w2c_i0 = w2c_p1;
      w2c_i1 = w2c_l7;
      w2c_i0 = w2c_i0 == w2c_i1 || (w2c_i0 + 7u <= 1u && w2c_i1 + 7u <= 1u);
      if (w2c_i0) {
        w2c_j0 = w2c_l4;
        w2c_j1 = w2c_l3;
        w2c_i2 = 0u;
        w2c_i0 = w2c_f227(instance, w2c_j0, w2c_j1, w2c_i2);")

edit("< of a rope and a BigInt reads the rope as a BigInt"
"  if (w2c_i1) {goto w2c_B11;}
  w2c_i1 = w2c_p1;
  w2c_i2 = 4294967287u;
  w2c_i1 = w2c_i1 != w2c_i2;
  w2c_i2 = w2c_p1;
  w2c_i3 = 7u;"
"  if (w2c_i1) {goto w2c_B11;}
  if (w2c_p1 == 4294967290u) w2c_p1 = 4294967289u;
  if (w2c_l6 == 4294967290u) w2c_l6 = 4294967289u;
  w2c_i1 = w2c_p1;
  w2c_i2 = 4294967287u;
  w2c_i1 = w2c_i1 != w2c_i2;
  w2c_i2 = w2c_p1;
  w2c_i3 = 7u;")

edit("spread and rest take the characters of a string"
"static u32 w2c_f130(Z_qjs_instance_t* instance, u32 w2c_p0, u64 w2c_p1, u64 w2c_p2, u64 w2c_p3, u32 w2c_p4) {
"
"static u32 w2c_f130(Z_qjs_instance_t* instance, u32 w2c_p0, u64 w2c_p1, u64 w2c_p2, u64 w2c_p3, u32 w2c_p4) {
  if ((u32)(w2c_p2 >> 32) + 7u <= 1u) {
    const u64 object = w2c_JS_ToObject(instance, w2c_p0, w2c_p2);
    if (object >> 32 == 6u) return 4294967295u;
    const u32 result = w2c_f130(instance, w2c_p0, w2c_p1, object, w2c_p3, w2c_p4);
    w2c_JS_FreeValue(instance, w2c_p0, object);
    return result;
  }
")

# w2c_f1073 emits what makes the completion value undefined, as each statement that begins anew does.
edit("a catch block begins without a completion value"
"  w2c_B114:;
  w2c_i0 = w2c_p0;
  w2c_i0 = w2c_f675(instance, w2c_i0);
  if (w2c_i0) {goto w2c_B2;}
  w2c_i0 = w2c_p0;
  w2c_i0 = w2c_f674(instance, w2c_i0);
  w2c_i0 = w2c_p0;
  w2c_i1 = w2c_l2;
  w2c_f684(instance, w2c_i0, w2c_i1);
"
"  w2c_B114:;
  w2c_i0 = w2c_p0;
  w2c_i0 = w2c_f675(instance, w2c_i0);
  if (w2c_i0) {goto w2c_B2;}
  w2c_i0 = w2c_p0;
  w2c_i0 = w2c_f674(instance, w2c_i0);
  w2c_i0 = w2c_p0;
  w2c_i1 = w2c_l2;
  w2c_f684(instance, w2c_i0, w2c_i1);
  w2c_f1073(instance, w2c_p0);
")

# As it comes, a host function hands over boxes that the host would have to free by calls into the module. Only the
# console's is ever made: (text, level), and the bytes that are left come back as an integer.
edit("a host function takes a text and a number and gives back a number"
"  w2c_i1 += w2c_i2;
  w2c_i2 = w2c_p5;
  w2c_j2 = i64_load(&instance->w2c_memory, (u64)(w2c_i2));
  w2c_i3 = 0u;
  w2c_i0 = w2c_JS_ToCStringLen2(instance, w2c_i0, w2c_i1, w2c_j2, w2c_i3);
  w2c_l9 = w2c_i0;
  w2c_i0 = !(w2c_i0);
  if (w2c_i0) {
    w2c_j0 = 25769803776ull;
    w2c_p1 = w2c_j0;
    goto w2c_B0;
  }
"
"  w2c_i1 += w2c_i2;
  w2c_i2 = w2c_p3;
  w2c_j2 = i64_load(&instance->w2c_memory, (u64)(w2c_i2));
  w2c_i3 = 0u;
  w2c_i0 = w2c_JS_ToCStringLen2(instance, w2c_i0, w2c_i1, w2c_j2, w2c_i3);
  w2c_l9 = w2c_i0;
  w2c_i0 = !(w2c_i0);
  if (w2c_i0) {
    w2c_j0 = 25769803776ull;
    w2c_p1 = w2c_j0;
    goto w2c_B0;
  }
  w2c_l10 = i32_load(&instance->w2c_memory, (u64)(w2c_p3) + 8u);
  w2c_i0 = i32_load(&instance->w2c_memory, (u64)(w2c_l6) + 12u);
  w2c_p1 = (u64)(*Z_envZ_host_call)(instance->Z_env_instance, w2c_l9, w2c_i0, w2c_l10, 0u, 0u);
  w2c_JS_FreeCString(instance, w2c_p0, w2c_l9);
  goto w2c_B0;
")

# A run can be ended from another thread, without a signal: memory that has no size any more is looked for in each round of
# each loop. What has no loop ends by itself.
edit("a loop looks whether it may go on"
"#define UNREACHABLE TRAP(UNREACHABLE)
"
"#define UNREACHABLE TRAP(UNREACHABLE)
#define HEDDLE_GO_ON if (UNLIKELY(*(volatile u32*)&instance->w2c_memory.size == 0)) TRAP(OOB)
")
set(heddle_loops 1278)
string(REGEX MATCHALL "\n *w2c_L[0-9]+: \n" loops "${text}")
list(LENGTH loops count)
if(NOT count EQUAL heddle_loops)
  message(FATAL_ERROR "${SOURCE} is not the C that the edit 'a loop looks whether it may go on' was written for: it has "
    "${count} loops, not ${heddle_loops}.")
endif()
string(REGEX REPLACE "(\n *w2c_L[0-9]+:) \n" "\\1 HEDDLE_GO_ON;\n" text "${text}")

file(WRITE "${DESTINATION}" "${text}")
