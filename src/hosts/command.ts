import type { HostRole, HostSpec } from '../domain/host.ts';
import { entryCommand } from './entries.ts';

/** Hidden verbs of the lab's own command that become a child process. */
export const CHILD_VERBS = {
  worker: 'worker-process',
  trainer: 'trainer-process',
} as const satisfies Record<HostRole, string>;

/** How the lab is started on a host whose config does not say. */
const REMOTE_COMMAND = 'agentrl-lab';

/**
 * Never asks for a password, and notices a dead link within 15 s. ssh takes the first value it is given, so the user's
 * own options come before these.
 */
const SSH_OPTIONS = [
  ['BatchMode', 'yes'],
  ['ServerAliveInterval', '5'],
  ['ServerAliveCountMax', '3'],
  ['ConnectTimeout', '10'],
].flatMap(([name, value]) => ['-o', `${name}=${value}`]);

/** Program and arguments that start a child on a host; the same child whether here or over ssh. */
export function childCommand(host: HostSpec, entry: HostRole): readonly [string, ...string[]] {
  // `exec` leaves no shell between the child and sshd: it would hide from the child that the link is gone.
  const line = (command: string): string => `exec ${command} ${CHILD_VERBS[entry]}`;
  if (host.ssh !== null) {
    const command = line(host.command ?? REMOTE_COMMAND);
    return ['ssh', '-T', ...host.sshOptions, ...SSH_OPTIONS, '--', host.ssh, command];
  }
  if (host.command !== null) return ['/bin/sh', '-c', line(host.command)];
  return entryCommand(entry);
}
