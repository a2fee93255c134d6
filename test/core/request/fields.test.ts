import fc from 'fast-check'
import t from 'tap'
import {
  FieldTree,
  type FieldValue,
  formatFieldPath,
  isFields,
  isLeaf,
} from '../../../core/request/fields.ts'

/** Field tree of `name=value` pairs, as JSON. */
function nest(...fields: string[]): string {
  const tree = new FieldTree('field', 'test')
  for (const field of fields) {
    const at = field.indexOf('=')
    tree.add(field.slice(0, at), field.slice(at + 1))
  }
  return JSON.stringify(tree.finish())
}

t.test('dotted and bracketed names become nested objects and lists', async (t) => {
  const cases: [string[], string][] = [
    [['a=1', 'b=2'], '{"a":"1","b":"2"}'],
    [['a.b.c=1', 'a[b][d]=2', 'a[e].f=3'], '{"a":{"b":{"c":"1","d":"2"},"e":{"f":"3"}}}'],
    [['a=1', 'a=2', 'a=3'], '{"a":["1","2","3"]}'],
    [['a[]=1'], '{"a":["1"]}'],
    [['a[]=1', 'a=2', 'a[]=3'], '{"a":["1","2","3"]}'],
    [['a=1', 'a[]=2'], '{"a":["1","2"]}'],
    [['a[1]=y', 'a[0]=x'], '{"a":["x","y"]}'],
    [['a[0].b=1', 'a[0].c=2', 'a[1].b=3'], '{"a":[{"b":"1","c":"2"},{"b":"3"}]}'],
    [['a[0][0]=1', 'a[0][1]=2', 'a[1][]=3'], '{"a":[["1","2"],["3"]]}'],
    [['a.0=x', 'a[01]=y', 'a[-1]=z'], '{"a":{"0":"x","01":"y","-1":"z"}}'],
    [
      ['toString=1', 'hasOwnProperty.valueOf=2'],
      '{"toString":"1","hasOwnProperty":{"valueOf":"2"}}',
    ],
  ]
  for (const [fields, json] of cases) t.equal(nest(...fields), json, fields.join('&'))
})

t.test('rejects a name that is both a value and an object with 400', async (t) => {
  const cases: [string[], string][] = [
    [['a=1', 'a.b=2'], 'field "a.b" conflicts with "a", which was a value before'],
    [['a.b=1', 'a=2'], 'field "a" must not be repeated, it was an object before'],
    [['x.a[b]=1', 'x.a=2'], 'field "x.a" must not be repeated, it was an object before'],
    [['a=1', 'a[0]=2'], 'field "a[0]" conflicts with "a", which was a value before'],
    [['a[0]=1', 'a=2'], 'field "a" must not be repeated, it was a list by index before'],
    [['a[0]=1', 'a[]=2'], 'field "a[]" conflicts with "a", which was a list by index before'],
    [['a[]=1', 'a[0]=2'], 'field "a[0]" conflicts with "a", which was a list before'],
    [['a.b=1', 'a[]=2'], 'field "a[]" conflicts with "a", which was an object before'],
    [['a[0]=1', 'a.b=2'], 'field "a.b" conflicts with "a", which was a list by index before'],
  ]
  for (const [fields, message] of cases)
    t.throws(() => nest(...fields), { code: 400, id: 'test', message }, fields.join('&'))
})

t.test('rejects a malformed name with 400 and examples of valid names', async (t) => {
  for (const name of [
    '',
    '.',
    '.a',
    'a.',
    'a..b',
    '[',
    ']',
    '[a]',
    '[]',
    'a[',
    'a]',
    'a[b',
    'a[b]c',
    'a[b]]',
    'a[[b]]',
    'a[b[c]]',
    'a.[b]',
    'a].b',
  ])
    t.throws(
      () => nest(`${name}=1`),
      {
        code: 400,
        message: `field ${JSON.stringify(name)} must be a name such as limit, options.limit, options[limit], tags[]`,
      },
      name,
    )
  t.throws(() => nest('a[][b]=1'), { message: 'field "a[][b]" may contain [] only at its end' })
})

t.test('rejects __proto__, constructor and prototype with 400 at any level', async (t) => {
  for (const word of ['__proto__', 'constructor', 'prototype']) {
    for (const name of [
      word,
      `a.${word}`,
      `a[${word}]`,
      `${word}.a`,
      `${word}[a]`,
      `${word}[]`,
      `a[0].${word}`,
    ])
      t.throws(() => nest(`${name}=1`), { code: 400, message: new RegExp(`${word}$`) }, name)
  }
  t.equal(
    nest('proto=1', '__proto=2', 'Constructor=3'),
    '{"proto":"1","__proto":"2","Constructor":"3"}',
  )
})

t.test('names can nest 32 levels deep', async (t) => {
  t.doesNotThrow(() => nest(`a${'.b'.repeat(31)}=1`))
  t.doesNotThrow(() => nest(`a${'[0]'.repeat(31)}=1`))
  const tooDeep = { code: 400, message: /must not nest deeper than 32 names$/ }
  t.throws(() => nest(`a${'.b'.repeat(32)}=1`), tooDeep)
  t.throws(() => nest(`a${'[0]'.repeat(5_000_000)}=1`), tooDeep)
})

t.test('lists by index have at most 256 items and no gaps', async (t) => {
  const all = Array.from({ length: 256 }, (_, i) => `a[${i}]=${i}`)
  t.equal(JSON.parse(nest(...all.reverse())).a[255], '255')
  for (const index of ['256', '300', '1000', '99999999999'])
    t.throws(() => nest(`a[${index}]=1`), {
      code: 400,
      message: `field "a[${index}]" must have indexes from 0 to 255`,
    })
  const gapError = /is missing: a list by index must not have gaps$/
  t.throws(() => nest('a[1]=1'), { code: 400, message: gapError })
  t.throws(() => nest('x.a[0]=1', 'x.a[3]=1', 'x.a[1]=1'), {
    message: /^field "x.a\[2\]" is missing/,
  })
})

t.test('an error quotes at most 64 characters of a name', async (t) => {
  t.throws(() => nest(`${'x'.repeat(10_000)}[=1`), { message: /^field "x{64}…" must be a name/ })
})

t.test('a nested value is found under its names, without inherited properties', async () => {
  const part = fc
    .string({ minLength: 1, maxLength: 5 })
    .filter((part) => !/[.[\]]|^[1-9]|^(?:__proto__|constructor|prototype)$/.test(part))
  fc.assert(
    fc.property(
      fc.uniqueArray(part, { minLength: 1, maxLength: 6 }),
      fc.boolean(),
      (parts, dots) => {
        const tree = new FieldTree('field', 'test')
        const [first, ...rest] = parts
        tree.add(first + rest.map((part) => (dots ? `.${part}` : `[${part}]`)).join(''), 'leaf')
        let value: FieldValue = tree.finish()
        for (const part of parts) {
          if (Array.isArray(value)) value = value[Number(part)]!
          else {
            if (!isFields(value) || 'valueOf' in value) return false
            value = value[part]!
          }
        }
        return value === 'leaf'
      },
    ),
    { examples: [[['a', 'toString'], true]] },
  )
})

t.test('files are leaf values', async (t) => {
  const bytes = new Uint8Array(2)
  t.ok(isLeaf(bytes))
  t.ok(isLeaf('x'))
  t.notOk(isLeaf([]))
  t.notOk(isFields(bytes))
  const tree = new FieldTree('field', 'test')
  tree.add('a', bytes)
  tree.add('a', 'x')
  t.same(tree.finish()['a'], [bytes, 'x'])
  t.throws(() => tree.add('a[b]', bytes), { code: 400 })
})

t.test('formatPath writes a path with dots and indexes', async (t) => {
  t.equal(formatFieldPath([]), '')
  t.equal(formatFieldPath(['options', 'tags', 0, 'x']), 'options.tags[0].x')
})
