/**
 * The vocabulary of the graph: what a node is, and which ops there are with their inputs and attributes. Three tables go
 * over it, and the compiler sees to it that each has an entry for every op: shape-rules.ts, gradients.ts, onnx-ops.ts.
 */

/** Element types. On the outside: Float32Array, Int32Array, BigInt64Array, and Uint8Array of 0 and 1. */
export type Dtype = 'f32' | 'i32' | 'i64' | 'bool';

/**
 * A length, or the name of an axis whose length is known only when the graph runs: 'B' is the batch by custom. A shape has
 * at most one such axis, so that a length left out always follows from the others.
 */
export type Dim = number | string;

/** Lengths of the axes, outermost first; `[]` is a scalar, whose data has length 1. */
export type Shape = readonly Dim[];

/** Data of a tensor, row-major. */
export type TensorData = Float32Array | Int32Array | BigInt64Array | Uint8Array;

type None = Readonly<Record<string, never>>;
type One = readonly [Node];
type Two = readonly [Node, Node];
type Three = readonly [Node, Node, Node];
type OpEntry<Inputs, Attributes = None> = { readonly inputs: Inputs; readonly attributes: Attributes };
type Entries<Name extends string, Inputs> = { readonly [K in Name]: OpEntry<Inputs> };
type Reduction = OpEntry<One, { readonly axes: readonly number[]; readonly keep: boolean }>;

export type ArithmeticName = 'add' | 'sub' | 'mul' | 'div' | 'min' | 'max';
export type ComparisonName = 'less' | 'lessOrEqual' | 'greater' | 'greaterOrEqual' | 'equal';
export type UnaryName = 'neg' | 'exp' | 'log' | 'sqrt' | 'abs' | 'sign' | 'tanh' | 'sigmoid' | 'relu';
export type ReductionName = 'reduceSum' | 'reduceMean' | 'reduceMax';

interface OtherOps {
  readonly input: OpEntry<
    readonly [],
    { readonly name: string; readonly dtype: Dtype; readonly shape: Shape }
  >;
  /** A float32 input that `differentiate` may be asked about. */
  readonly parameter: OpEntry<readonly [], { readonly name: string; readonly shape: Shape }>;
  readonly constant: OpEntry<readonly [], { readonly data: TensorData; readonly shape: Shape }>;
  readonly zeros: OpEntry<readonly [], { readonly shape: readonly number[] }>;
  readonly cast: OpEntry<One, { readonly to: Dtype }>;
  readonly transpose: OpEntry<One, { readonly permutation: readonly number[] }>;
  readonly reshape: OpEntry<One, { readonly shape: Shape }>;
  /** The second input, present when the target shape has a named axis, is the graph input that knows its length. */
  readonly broadcast: OpEntry<One | Two, { readonly shape: Shape }>;
  readonly concat: OpEntry<readonly Node[], { readonly axis: number }>;
  readonly slice: OpEntry<One, { readonly axis: number; readonly start: number; readonly end: number }>;
  readonly pad: OpEntry<One, { readonly axis: number; readonly before: number; readonly after: number }>;
  readonly reduceSum: Reduction;
  readonly reduceMean: Reduction;
  readonly reduceMax: Reduction;
  readonly biasCorrection: OpEntry<One, { readonly beta: number }>;
}

/** Op name → inputs and attributes. */
export type Ops = OtherOps &
  Entries<ArithmeticName | ComparisonName | 'and', Two> &
  Entries<UnaryName | 'not' | 'stopGradient' | 'softmax' | 'logSoftmax' | 'batchSize', One> &
  Entries<'matmul' | 'outerSum' | 'gatherRows' | 'pick', Two> &
  Entries<'clamp' | 'where' | 'scatterAddRows', Three>;
export type OpName = keyof Ops;

/** What an op gives: element type and shape. */
export interface TensorType {
  readonly dtype: Dtype;
  readonly shape: Shape;
}

/** A node of one op; `id` counts up, so a node's inputs have smaller ids than the node. */
export type NodeOf<K extends OpName> = {
  [P in K]: {
    readonly id: number;
    readonly op: P;
    readonly inputs: Ops[P]['inputs'];
    readonly attributes: Ops[P]['attributes'];
    readonly dtype: Dtype;
    readonly shape: Shape;
  };
}[K];

/** A node of any op: a frozen value. */
export type Node = NodeOf<OpName>;
