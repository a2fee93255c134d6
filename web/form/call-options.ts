import { formatMetadata } from '../../core/rpc/metadata.ts'

/** Parses call metadata, one `name: value` per line. @throws {Error} for the first invalid line. */
export function parseMetadataLines(text: string): readonly (readonly [string, string])[] {
  return text.split('\n').flatMap((line) => {
    if (line.trim() === '') return []
    const at = line.indexOf(':')
    if (at < 1)
      throw new Error(`each line must be name: value, got ${JSON.stringify(line.slice(0, 100))}`)
    const entry = [line.slice(0, at).trim().toLowerCase(), line.slice(at + 1).trim()] as const
    formatMetadata(entry)
    return [entry]
  })
}

/** Parses a timeout in milliseconds. Returns undefined for empty input. @throws {Error} */
export function parseTimeout(text: string): number | undefined {
  if (text.trim() === '') return undefined
  const ms = Number(text)
  if (Number.isInteger(ms) && ms > 0 && ms < 2 ** 31) return ms
  throw new Error(
    `must be a number of milliseconds such as 5000, got ${JSON.stringify(text.slice(0, 100))}`,
  )
}
