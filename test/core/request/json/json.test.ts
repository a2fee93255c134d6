import fc from 'fast-check'
import t from 'tap'
import { type JsonValue, parseJson } from '../../../../core/request/json/json.ts'
import { scaleRuns } from '../../../fixtures/property-runs.ts'

t.test('JSON is parsed from text or bytes', async (t) => {
  const value = { a: [1, 2.5, 'x', true, null], b: { c: '"\\/' } }
  t.same(parseJson(JSON.stringify(value)), value)
  t.same(parseJson(Buffer.from(JSON.stringify({ é: '€' }))), { é: '€' })
  t.same(parseJson(new TextEncoder().encode(' 1 ')), 1)
})

t.test('valid JSON within the limits is parsed as by JSON.parse', async () => {
  fc.assert(
    fc.property(fc.json({ maxDepth: 6 }), fc.nat({ max: 4 }), (text, indent) => {
      const indented = JSON.stringify(JSON.parse(text), null, indent)
      if (text.includes('__proto__')) return true
      return JSON.stringify(parseJson(indented)) === JSON.stringify(JSON.parse(text))
    }),
  )
})

t.test('rejects malformed JSON with 400 and the position of the error', async (t) => {
  const cases: [string, string][] = [
    ['', 'expected a value at position 0, got the end'],
    ['{"a":}', 'expected a value at position 5, got "}"'],
    ['{"a":1', 'expected , or } at position 6, got the end'],
    ['[1,]', 'expected a value at position 3, got "]"'],
    ['{} x', 'expected the end at position 3, got "x"'],
  ]
  for (const [text, fault] of cases)
    t.throws(
      () => parseJson(text),
      { code: 400, id: 'go.mx.api', message: `request body must be JSON: ${fault}` },
      text,
    )
  t.throws(() => parseJson('x', 'request', 'go.mx.rpc'), {
    id: 'go.mx.rpc',
    message: /^request must be JSON/,
  })
})

t.test('rejects text that is not UTF-8 with 400', async (t) => {
  t.throws(() => parseJson(Buffer.from([0x22, 0xff, 0x22])), {
    code: 400,
    message: 'request body must be UTF-8 text',
  })
})

t.test('rejects JSON that nests deeper than 64 levels with 400', async (t) => {
  t.doesNotThrow(() => parseJson(`${'['.repeat(64)}${']'.repeat(64)}`))
  t.doesNotThrow(() => parseJson(`[${'[],'.repeat(1000)}1]`))
  const tooDeep = { code: 400, message: 'request body must not nest deeper than 64' }
  t.throws(() => parseJson(`${'['.repeat(65)}${']'.repeat(65)}`), tooDeep)
  t.throws(() => parseJson(`${'{"a":'.repeat(65)}1${'}'.repeat(65)}`), tooDeep)
  t.doesNotThrow(
    () => parseJson(JSON.stringify('['.repeat(1000))),
    'brackets in strings do not nest',
  )
})

t.test('16 MiB of brackets are rejected within 10 seconds', async (t) => {
  const before = performance.now()
  for (const char of ['[', '{', '[{', '"', '\\', ':', '{"a":', '[[],'])
    t.throws(() => parseJson(Buffer.alloc(16 * 1024 * 1024, char)), { code: 400 }, char)
  t.ok(performance.now() - before < 10_000, `${performance.now() - before} ms`)
})

t.test('rejects more than 100,000 names in all objects with 400', async (t) => {
  const makeObjects = (count: number) =>
    `[${Array.from({ length: count }, () => '{"a":1}').join()}]`
  t.equal((parseJson(makeObjects(100_000)) as JsonValue[]).length, 100_000)
  t.throws(() => parseJson(makeObjects(100_001)), {
    code: 400,
    message: 'request body must not contain more than 100000 names',
  })
  t.doesNotThrow(() => parseJson(JSON.stringify(':'.repeat(200_000))))
})

t.test('rejects the name __proto__ with 400 in any escaped form', async (t) => {
  const everyEscaped = [...'__proto__']
    .map((char) => `\\u00${char.charCodeAt(0).toString(16)}`)
    .join('')
  const names = [
    '__proto__',
    '\\u005f_proto__',
    '__pr\\u006Fto__',
    '\\u005F\\u005fproto\\u005f_',
    everyEscaped,
  ]
  for (const name of names) {
    for (const text of [`{"${name}":1}`, `{"a":[{"b" : "x", "${name}"\n : {}}]}`])
      t.throws(
        () => parseJson(text),
        {
          code: 400,
          message: /^request body must not contain the name __proto__ \(at position \d+\)$/,
        },
        text,
      )
  }
  t.throws(() => parseJson('{"__proto__":1}'), { message: /position 2\)$/ })
})

t.test('text that only resembles the name __proto__ is accepted', async (t) => {
  const texts = [
    '"__proto__"',
    '["__proto__",1]',
    '{"a":"__proto__"}',
    '{"__proto":1}',
    '{"__proto__ ":1}',
    '{"\\\\u005f_proto__":1}',
    '{"a":"\\"__proto__\\":1"}',
    '{"___proto__":1}',
    '{"constructor":1,"toString":2}',
  ]
  for (const text of texts) t.doesNotThrow(() => parseJson(text), text)
})

t.test(
  'a random text either contains a value without __proto__ or is rejected with 400',
  async () => {
    const piece = fc.constantFrom(
      ...[
        '{',
        '}',
        '[',
        ']',
        ':',
        ',',
        '"',
        '\\',
        '\\"',
        '"__proto__"',
        '"\\u005f_proto__"',
        'a',
        '1',
        ' ',
        'null',
        '\\u00',
      ],
    )
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 14 }), (pieces) => {
        const text = pieces.join('')
        let value: JsonValue
        try {
          value = parseJson(text)
        } catch (error) {
          return (error as { code?: number }).code === 400
        }
        let isSafe = true
        JSON.parse(text, (name, inner) => {
          if (name === '__proto__') isSafe = false
          return inner
        })
        return isSafe && JSON.stringify(value) === JSON.stringify(JSON.parse(text))
      }),
      { numRuns: scaleRuns(5000) },
    )
  },
)
