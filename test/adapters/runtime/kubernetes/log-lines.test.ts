import { Readable } from 'node:stream'
import t from 'tap'
import {
  advance,
  compareStamps,
  createFilter,
  type Position,
  readStampedLines,
  type StampedLine,
} from '../../../../adapters/runtime/kubernetes/log-lines.ts'

async function read(...chunks: (string | Uint8Array)[]): Promise<StampedLine[]> {
  const bytes = chunks.map((chunk) => Buffer.from(chunk))
  const all: StampedLine[] = []
  for await (const lines of readStampedLines(Readable.from(bytes))) all.push(...lines)
  return all
}

const STAMP = '2026-11-22T15:00:00.123456789Z'
const AT = { timestampMs: Date.parse('2026-11-22T15:00:00.123Z'), nanos: 456789 }

t.test('parses timestamps in nanoseconds', async (t) => {
  t.same(await read(`${STAMP} one\n`), [{ ...AT, text: 'one' }])
  t.same(await read(`${STAMP} \n${STAMP}\n`), [
    { ...AT, text: '' },
    { ...AT, text: '' },
  ])
  t.match(await read('2026-11-22T16:00:00.1+01:00  a \n'), [
    { timestampMs: Date.parse('2026-11-22T15:00:00.100Z'), nanos: 0, text: ' a ' },
  ])
})

t.test(
  'returns complete lines for any chunk size, including an unterminated last line',
  async (t) => {
    const bytes = Buffer.from(`${STAMP} grün\n${STAMP} two`)
    const pieces = Array.from(bytes, (byte) => Uint8Array.of(byte))
    t.same(
      (await read(...pieces)).map(({ text }) => text),
      ['grün', 'two'],
    )
  },
)

t.test('splits lines beyond 64 KiB with the same timestamp', async (t) => {
  const chunk = 'x'.repeat(40_000)
  const lines = await read(`${STAMP} ${chunk}`, chunk, chunk, `\n${STAMP} next\n`)
  t.equal(lines.length, 3)
  t.equal(lines[0]!.text.length + lines[1]!.text.length, 120_000)
  t.match(lines, [AT, AT, { ...AT, text: 'next' }])
})

t.test('skips lines up to a position', async (t) => {
  const line = (timestampMs: number, nanos: number, text: string): StampedLine => ({
    timestampMs,
    nanos,
    text,
  })
  const log = [line(1, 0, 'a'), line(1, 5, 'b'), line(1, 5, 'c'), line(1, 5, 'd'), line(2, 0, 'e')]
  let position: Position | undefined
  for (const read of log.slice(0, 3)) position = advance(position, read)
  t.same(position, { timestampMs: 1, nanos: 5, count: 2 })
  t.same(
    log.filter(createFilter(position)).map(({ text }) => text),
    ['d', 'e'],
  )
  t.equal(log.filter(createFilter(undefined)).length, 5)
  t.ok(compareStamps(log[0]!, log[1]!) < 0)
  t.ok(compareStamps(log[4]!, log[1]!) > 0)
})
