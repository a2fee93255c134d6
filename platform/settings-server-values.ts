import { parsePostgresUrl } from '../adapters/store/postgres/url.ts'
import { suggest } from '../core/suggest.ts'

/** What names a store, for help and errors. */
export const STORE_FORMS = 'memory, lmdb (a file) or postgres://user@host:port/database'

/**
 * The text of a store: `memory`, `lmdb`, or the URL of a PostgreSQL server.
 *
 * @throws {RangeError} naming what would be right.
 */
export function parseStoreText(text: string): string {
  const trimmed = text.trim()
  if (trimmed === 'memory' || trimmed === 'lmdb') return trimmed
  if (/^postgres(?:ql)?:/.test(trimmed)) {
    checkUrl(() => parsePostgresUrl(trimmed))
    return trimmed
  }
  const meant = suggest(trimmed, ['memory', 'lmdb'])
  const hint = meant === undefined ? '' : `, did you mean ${meant}?`
  throw new RangeError(`must be ${STORE_FORMS}, got ${JSON.stringify(hideSecret(text))}${hint}`)
}

/** Without what may be a password. */
export function hideSecret(text: string): string {
  return text.replace(/[^/]*@/g, '[secret]@')
}

function checkUrl(check: () => unknown): void {
  try {
    check()
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    throw new RangeError(`cannot be used: ${error.message}`, { cause: error })
  }
}
