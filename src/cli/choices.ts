/** What slots can be ordered by. */
export const SLOT_ORDERS = ['wait', 'age', 'steps', 'cpu', 'temp', 'files', 'slot'] as const;
export type SlotOrder = (typeof SLOT_ORDERS)[number];

/** What the rows of compared runs are aligned by. */
export const COMPARE_AXES = ['iteration', 'steps', 'time'] as const;
export type CompareAxis = (typeof COMPARE_AXES)[number];
