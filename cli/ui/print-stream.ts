import { once } from 'node:events'
import type { Maybe } from '../../lib/async/maybe.ts'
import { EXIT } from './output.ts'

/**
 * Writes what comes, until nothing more does, or Ctrl-C, which ends the program with status 0.
 *
 * @param format what is written of each, with its line feed.
 * @param leave has the stream end by itself, in place of the program at Ctrl-C.
 */
export async function printStream<T>(
  items: AsyncIterable<T>,
  format: (item: T) => Maybe<string | Uint8Array>,
  leave?: () => void,
): Promise<void> {
  const { stdout } = process
  const interrupt = leave ?? ((): never => process.exit(EXIT.ok))
  process.once('SIGINT', interrupt)
  try {
    for await (const item of items)
      if (!stdout.write(await format(item))) await once(stdout, 'drain')
  } finally {
    process.off('SIGINT', interrupt)
  }
}
