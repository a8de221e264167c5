import { z } from 'zod';

/** An episode as it stands in a segment: its summary, and its body as UTF-8 JSON. */
export interface GroupedEpisode {
  readonly header: object;
  /** The header as JSON, if that is there already. */
  readonly json?: Uint8Array | undefined;
  readonly body: Uint8Array;
}

/** An episode of a group that was unpacked; `header` is what its JSON says. */
export interface UnpackedEpisode {
  readonly header: unknown;
  readonly body: Buffer;
}

/**
 * Episodes that are stored at the same time are packed together, up to so many bytes of JSON: one by one they take several
 * times the time and the room. To read one of them, or to lose one to a rotten byte, is to read or lose all.
 */
export const GROUP_BYTES = 48 * 1024;
/** About what a summary takes of that. */
const HEADER_BYTES = 700;

/** About so many bytes of JSON are these episodes. */
export function packedBytes(episodes: readonly GroupedEpisode[]): number {
  return episodes.reduce((sum, { body }) => sum + HEADER_BYTES + body.byteLength, 0);
}

/** The header of an episode as UTF-8 JSON. */
export function headBytes({ header, json }: GroupedEpisode): Uint8Array {
  return json ?? Buffer.from(JSON.stringify(header));
}

/** Neighbours that are to be one record each: as many as fit into GROUP_BYTES, one at least. */
export function groupsOf<Episode extends GroupedEpisode>(episodes: readonly Episode[]): Episode[][] {
  const groups: Episode[][] = [];
  let room = 0;
  for (const episode of episodes) {
    const bytes = HEADER_BYTES + episode.body.byteLength;
    const newest = groups.at(-1);
    if (newest === undefined || room < bytes) {
      groups.push([episode]);
      room = GROUP_BYTES - bytes;
    } else {
      newest.push(episode);
      room -= bytes;
    }
  }
  return groups;
}

/** Of each episode of a group its id, and the bytes of its header and of its body. */
const groupHeaderSchema = z.object({
  episodes: z.array(z.tuple([z.string(), z.int().nonnegative(), z.int().nonnegative()])).min(1),
});
type GroupHeader = z.infer<typeof groupHeaderSchema>;

/** Payloads are put together in here: memory outside the heap that is asked for again and again has all of the heap collected. */
let room = Buffer.allocUnsafe(0);

/**
 * What episodes become that are stored as one record: its header, and what is packed as its body: all headers, all bodies. The
 * payload stands until the next one is made.
 */
export function packGroup(episodes: readonly GroupedEpisode[]): { header: GroupHeader; payload: Buffer } {
  const heads = episodes.map(headBytes);
  const header: GroupHeader = {
    episodes: episodes.map((episode, index) => [
      'id' in episode.header ? String(episode.header.id) : '',
      heads[index]?.byteLength ?? 0,
      episode.body.byteLength,
    ]),
  };
  return { header, payload: joined([...heads, ...episodes.map(({ body }) => body)]) };
}

function joined(parts: readonly Uint8Array[]): Buffer {
  const bytes = parts.reduce((sum, { byteLength }) => sum + byteLength, 0);
  if (bytes > room.byteLength) room = Buffer.allocUnsafeSlow(Math.max(bytes, 2 * GROUP_BYTES));
  let at = 0;
  for (const part of parts) {
    room.set(part, at);
    at += part.byteLength;
  }
  return room.subarray(0, bytes);
}

/** Bytes that the payload of a group with this header has; null when that is the header of none. */
export function payloadBytes(header: unknown): number | null {
  const parsed = groupHeaderSchema.safeParse(header);
  if (!parsed.success) return null;
  return parsed.data.episodes.reduce((sum, [, head, body]) => sum + head + body, 0);
}

/** The episodes of a group, in the order in which they were given. Throws what zod or JSON throw for any other header or payload. */
export function unpackGroup(header: unknown, payload: Buffer): UnpackedEpisode[] {
  const { episodes } = groupHeaderSchema.parse(header);
  let headAt = 0;
  let bodyAt = episodes.reduce((sum, [, head]) => sum + head, 0);
  return episodes.map(([, head, body]) => {
    const json: unknown = JSON.parse(payload.toString('utf8', headAt, headAt + head));
    const unpacked = { header: json, body: payload.subarray(bodyAt, bodyAt + body) };
    headAt += head;
    bodyAt += body;
    return unpacked;
  });
}
