// What most glue code is: pick, add, rename.
const total = input.items.reduce((sum, item) => sum + item.quantity * item.price, 0);
({ id: input.id, total, customer: input.customer.toUpperCase() });
