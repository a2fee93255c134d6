import type { LogLine } from '../../../../core/contracts/runtime.ts'

const STREAMS = { o: 'stdout', e: 'stderr' } as const

/**
 * Formats log lines for the file, each as `<Unix ms> <instance> <o|e> <text>` followed by a line
 * feed.
 */
export function formatRecords(
  { timestampMs, instance, stream }: Omit<LogLine, 'text'>,
  texts: readonly string[],
): string {
  const head = `${timestampMs} ${instance} ${stream === 'stdout' ? 'o' : 'e'} `
  return `${head}${texts.join(`\n${head}`)}\n`
}

/**
 * Parses a line from {@link formatRecords} without its line feed. Returns undefined for a malformed
 * or partial line.
 */
export function parseRecord(record: string): LogLine | undefined {
  const time = record.indexOf(' ')
  const instance = record.indexOf(' ', time + 1)
  const stream = STREAMS[record[instance + 1] as 'o' | 'e']
  const timestampMs = Number(record.slice(0, time))
  if (time < 1 || instance < 0 || stream === undefined || !Number.isSafeInteger(timestampMs)) return
  return {
    timestampMs,
    instance: record.slice(time + 1, instance),
    stream,
    text: record.slice(instance + 3),
  }
}
