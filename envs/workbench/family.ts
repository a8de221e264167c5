import type { RandomStream } from '../../src/domain/random.ts';
import type { Assigned, NameSource, Scenario } from './scenario.ts';
import type { World } from './world.ts';

/** One kind of Workbench task: how such tasks are made and how their result is judged. */
export interface Family {
  readonly name: string;
  /** 1 (easy) to 3, comparable across families. */
  readonly difficulty: number;
  /** Makes a task; all that is random in it comes from `random` and `names`. */
  assign(random: RandomStream, names: NameSource): Assigned;
  /** Whether a computer that is submitted is what the task asked for. */
  grade(world: World, scenario: Scenario): boolean;
}
