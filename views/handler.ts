import type { Look } from './look.ts';
import type { Session } from './session.ts';

/** Does what a key means. */
export type Handler = (session: Session, look: Look) => void;
