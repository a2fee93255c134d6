import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import {
  parseJson,
  parseRawJson,
  parseRawJsonList,
  readBytes,
  readText,
} from '../../../cli/args/input.ts'
import type { RawJson } from '../../../core/request/json/written-json.ts'

const folder = t.testdir()
const file = join(folder, 'bytes')
writeFileSync(file, Buffer.from([0xff, 0x00, 0x0a]))

t.test(
  '@path reads the bytes of a file, @@x is the text @x, other text is unchanged',
  async (t) => {
    t.same([...(await readBytes(`@${file}`))], [0xff, 0x00, 0x0a])
    t.equal(String(await readBytes('@@you')), '@you')
    t.equal(String(await readBytes('größe')), 'größe')
    await t.rejects(readBytes(`@${file}x`), { message: /bytesx cannot be read: ENOENT/, status: 2 })
  },
)

t.test('text from a file loses its final line ending, typed text does not', async (t) => {
  writeFileSync(join(folder, 'text'), 'one\ntwo\r\n')
  t.equal(await readText(`@${join(folder, 'text')}`, 'VALUE'), 'one\ntwo')
  t.equal(await readText('@@you\n', 'VALUE'), '@you\n')
  await t.rejects(readText(`@${file}`, 'VALUE'), { message: 'VALUE must be UTF-8', status: 2 })
})

t.test('invalid JSON is rejected with the position of the first error', async (t) => {
  t.throws(() => parseJson('{"a":}', 'the request'), {
    message: 'the request must be JSON: expected a value at position 5, got "}"',
    status: 2,
  })
})

const TYPED =
  '{"2": 9007199254740993, "1":[-9223372036854775808,1.0,-0,1E400,1e30],\n"t":"\\u00e4\\/ 1.0", "d":0.1000000000000000055,"d":1}'

t.test('a request retains digits, key order, escapes and spaces as typed', async (t) => {
  t.equal(parseRawJson(` ${TYPED}\n`, 'x').text, TYPED)
  t.equal((parseRawJsonList(TYPED, 'x') as RawJson).text, TYPED)
  t.same(
    parseJson('{"a":[1,-0.5,"1.0"]}', 'x'),
    { a: [1, -0.5, '1.0'] },
    'other numbers are parsed',
  )
})

t.test('a JSON list is several requests, each as typed', async (t) => {
  const written = parseRawJsonList(`[ ${TYPED} ,2,[ 1.0 ]]`, 'x') as readonly RawJson[]
  t.same(
    written.map(({ text }) => text),
    [TYPED, '2', '[ 1.0 ]'],
  )
  t.same(parseRawJsonList(' [ ] ', 'x'), [])
})
