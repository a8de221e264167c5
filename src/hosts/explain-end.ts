import { errorText, LabError } from '../domain/error.ts';
import type { HostRole, HostSpec } from '../domain/host.ts';

/** How a child ended, and what was seen of it. */
export interface ChildEnd {
  readonly code: number | null;
  readonly signal: string | null;
  /** Set when the program could not even be started. */
  readonly startError: unknown;
  /** Its last line on stderr that says something. */
  readonly lastLine: string | null;
  /** Whether anything ever came from its stdout. */
  readonly answered: boolean;
}

/** Exit codes of ssh itself, and of a shell that does not find, or may not run, a program. */
const SSH_FAILED = 255;
const NOT_EXECUTABLE = 126;
const NOT_FOUND = 127;

/** Lines that ssh writes about its own connection. */
const SSH_LINE =
  /^(?:ssh: |kex_|client_loop: |banner |Connection (?:closed|reset|timed|to )|Timeout, server|Host key verification|Permission denied|Unable to negotiate|Bad |command-line|\S+: (?:Permission denied|Connection closed))/u;

/** The error that an unwanted end stands for; null when the child ended in peace, with code 0. */
export function explainEnd(host: HostSpec, entry: HostRole, end: ChildEnd): LabError | null {
  if (end.code === 0) return null;
  const said = end.lastLine === null ? 'it said nothing' : `last line: ${end.lastLine}`;
  if (end.startError !== null) {
    const program = host.ssh === null ? `the ${entry} process` : 'ssh';
    return new LabError('child-failed', {
      message: `${program} for host ${host.name} could not be started: ${errorText(end.startError)}`,
      ...(host.ssh === null ? {} : { hint: 'install the OpenSSH client on this machine' }),
      cause: end.startError,
    });
  }
  if (host.ssh !== null && end.code === SSH_FAILED) return explainSsh(host, entry, { end, said });
  if (end.code === NOT_FOUND || end.code === NOT_EXECUTABLE) {
    const command = host.command ?? 'agentrl-lab';
    return new LabError('child-failed', {
      message: `host ${host.name} cannot run "${command}" for its ${entry}: ${said}`,
      hint: 'install agentrl-lab there, or set command of this host to how it is started there (docs/HOSTS.md)',
    });
  }
  const how = end.signal === null ? `ended with code ${end.code}` : `was killed by ${end.signal}`;
  return new LabError('child-failed', { message: `the ${entry} on host ${host.name} ${how}; ${said}` });
}

function explainSsh(
  host: HostSpec,
  entry: HostRole,
  { end, said }: { readonly end: ChildEnd; readonly said: string },
): LabError {
  // 255 is also what ssh gives for a remote process that a signal killed: then the link had worked.
  if (end.answered && (end.lastLine === null || !SSH_LINE.test(end.lastLine))) {
    return new LabError('child-failed', {
      message: `the ${entry} on host ${host.name} was killed, or its link broke off; ${said}`,
    });
  }
  const test = ['ssh', ...host.sshOptions, host.ssh, 'true'].join(' ');
  return new LabError('host-unreachable', {
    message: `host ${host.name} (${host.ssh}) cannot be reached by ssh: ${said}`,
    hint: `try by hand, it must work without a password or a question: ${test}`,
  });
}
