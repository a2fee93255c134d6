import { once } from 'node:events'
import type { Maybe } from '../core/chain.ts'
import { EXIT } from './output.ts'

/**
 * Writes what comes, until nothing more does, Ctrl-C, or whoever reads has seen enough, such as `head`; the last two end
 * the program with status 0.
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
  const end = (): never => process.exit(EXIT.ok)
  const interrupt = leave ?? end
  process.once('SIGINT', interrupt)
  stdout.on('error', end)
  try {
    for await (const item of items)
      if (!stdout.write(await format(item))) await once(stdout, 'drain')
  } finally {
    process.off('SIGINT', interrupt)
    stdout.off('error', end)
  }
}
