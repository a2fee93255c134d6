import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { parseExactJson, readBytes, readJson, readText } from '../../cli/input.ts'

const folder = t.testdir()
const file = join(folder, 'bytes')
writeFileSync(file, Buffer.from([0xff, 0x00, 0x0a]))

t.test('@path is the bytes of a file, @@x is @x, anything else itself', async (t) => {
  t.same([...(await readBytes(`@${file}`))], [0xff, 0x00, 0x0a])
  t.equal(String(await readBytes('@@you')), '@you')
  t.equal(String(await readBytes('größe')), 'größe')
  await t.rejects(readBytes(`@${file}x`), { message: /bytesx cannot be read: ENOENT/, status: 2 })
})

t.test('text of a file has no line feed at its end, what is typed keeps it', async (t) => {
  writeFileSync(join(folder, 'text'), 'one\ntwo\r\n')
  t.equal(await readText(`@${join(folder, 'text')}`, 'VALUE'), 'one\ntwo')
  t.equal(await readText('@@you\n', 'VALUE'), '@you\n')
  await t.rejects(readText(`@${file}`, 'VALUE'), { message: 'VALUE must be UTF-8', status: 2 })
})

t.test('what is no JSON is refused with the place of the first fault', async (t) => {
  await t.rejects(readJson('{"a":}', 'the request'), {
    message: 'the request must be JSON: expected a value at position 5, got "}"',
    status: 2,
  })
})

t.test('integers beyond 2^53 are not rounded', async (t) => {
  const text =
    '{"id":9007199254740993,"n":[-9223372036854775808,1],"t":"9007199254740993 \\" 1","f":1e30,"d":-0.5}'
  t.same(parseExactJson(text, 'x'), {
    id: '9007199254740993',
    n: ['-9223372036854775808', 1],
    t: '9007199254740993 " 1',
    f: 1e30,
    d: -0.5,
  })
})
