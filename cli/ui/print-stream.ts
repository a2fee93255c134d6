import { once } from 'node:events'
import type { Maybe } from '../../lib/async/maybe.ts'
import { EXIT } from './output.ts'

/**
 * Prints items until the stream ends, or until Ctrl-C, which exits with status 0.
 *
 * @param format returns the text of an item including its line feed
 * @param leave called on Ctrl-C instead of exiting, to end the stream
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
