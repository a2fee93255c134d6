import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { parseValue } from '../../../cli/dynamic/parse-value.ts'
import { RawJson } from '../../../core/request/json/written-json.ts'

const file = join(t.testdir(), 'bytes')
writeFileSync(file, Buffer.from([0xff, 0, 0x41]))

const validRows: [type: string, texts: string[], value: unknown][] = [
  ['string', ['007'], '007'],
  ['string', ['@x'], '@x'],
  ['bool', [''], true],
  ['bool', ['T'], true],
  ['bool', ['0'], false],
  ['int32', ['-5'], -5],
  ['int64', ['0x2a'], 42],
  ['int64', ['-0b101'], -5],
  ['int64', ['0o17'], 15],
  ['int64', ['9223372036854775807'], new RawJson('9223372036854775807')],
  ['uint64', ['18446744073709551615'], new RawJson('18446744073709551615')],
  ['double', ['1.5e3'], 1500],
  ['bytes', [`@${file}`], '/wBB'],
  ['bytes', ['text'], 'dGV4dA=='],
  ['[]string', ['a,b'], ['a', 'b']],
  ['[]string', ['a,b', 'c'], ['a,b', 'c']],
  ['[]string', ['["a"]'], ['a']],
  ['[]string', [''], []],
  ['[]int64', ['1,9007199254740993'], [1, new RawJson('9007199254740993')]],
  ['[]Point', ['{"x":1,"y":2}'], [{ x: 1, y: 2 }]],
  ['[]bytes', ['a,b'], ['YSxi']],
  ['map[string]string', ['a=1', 'b=2=3'], { a: '1', b: '2=3' }],
  ['map[string]int64', ['a=0x10'], { a: 16 }],
  ['map[string]string', ['{"a":"1"}', 'b=2'], { a: '1', b: '2' }],
  ['object', ['{"id":9007199254740993}'], { id: new RawJson('9007199254740993') }],
  ['any', ['true'], true],
  ['any', ['plain'], 'plain'],
  ['Colour', ['RED'], 'RED'],
]
for (const [type, texts, value] of validRows) {
  t.test(`parses ${texts.join(' and ')} as ${type}`, async (t) => {
    t.same(await parseValue(type, texts, '--x'), value)
  })
}

const invalid: [type: string, texts: string[], message: string | RegExp][] = [
  ['int64', ['many'], '--x must be an int64 such as 42 or 0x2a, got "many"'],
  ['int64', ['1.5'], /such as 42/],
  ['int64', ['9223372036854775808'], /from -9223372036854775808 to 9223372036854775807, got/],
  ['int32', ['2147483648'], /an int32, from -2147483648 to 2147483647/],
  ['uint64', ['-1'], /a.? uint64, from 0/],
  ['double', ['x'], '--x must be a number such as 1.5, got "x"'],
  ['bool', ['perhaps'], '--x must be true or false, got "perhaps"'],
  ['bytes', ['@none'], /^none cannot be read: ENOENT/],
  ['map[string]string', ['a'], '--x must be key=value or a JSON object, got "a"'],
  ['object', ['[1]'], '--x must be a JSON object, got "[1]"'],
  ['[]int64', ['1,x'], /got "x"/],
  ['string', ['a', 'b'], '--x is a single string, got 2 values'],
]
for (const [type, texts, message] of invalid) {
  t.test(`rejects ${texts.join(' and ')} as ${type}`, async (t) => {
    await t.rejects(parseValue(type, texts, '--x'), { message, status: 2 })
  })
}
