import { formatMetadata } from '../../core/rpc/metadata.ts'

/** Metadata of a call as they are typed, a line `name: value` each. @throws {Error} saying what is wrong with the first wrong line. */
export function parseMetadataLines(text: string): readonly (readonly [string, string])[] {
  return text.split('\n').flatMap((line) => {
    if (line.trim() === '') return []
    const at = line.indexOf(':')
    if (at < 1)
      throw new Error(`a line must be name: value, got ${JSON.stringify(line.slice(0, 100))}`)
    const field = [line.slice(0, at).trim().toLowerCase(), line.slice(at + 1).trim()] as const
    formatMetadata(field)
    return [field]
  })
}

/** Milliseconds a call may take, as they are typed; undefined: nothing is. @throws {Error} */
export function parseTimeout(text: string): number | undefined {
  if (text.trim() === '') return undefined
  const ms = Number(text)
  if (Number.isInteger(ms) && ms > 0 && ms < 2 ** 31) return ms
  throw new Error(`must be milliseconds, such as 5000, got ${JSON.stringify(text.slice(0, 100))}`)
}
