import { connectToParent } from '../../src/protocol/child.ts';
import { type FromProbe, type ToProbe, toProbeSchema } from '../../src/protocol/devices.ts';
import { engineInfo } from '../session.ts';
import { probeProvider } from './probe.ts';

/** Entry of the process that tries one execution provider: native code may end it. See src/protocol/devices.ts. */

const connection = connectToParent<ToProbe, FromProbe>({
  schema: toProbeSchema,
  onMessage: ({ provider }) => void answer(provider),
  onEnd: () => undefined,
});

async function answer(provider: ToProbe['provider']): Promise<void> {
  const { version, known, folder } = engineInfo();
  const result = await probeProvider(provider);
  connection.send({ type: 'probed', ...result, engine: { version, known: [...known], folder } });
}
