import t from 'tap'
import { compileEdits, type JsonEdits } from '../../../../plugins/http/json/edit-json.ts'

const NO_EDITS: JsonEdits = { remove: [], rename: {}, set: {}, add: {} }

function edit(text: string, edits: Partial<JsonEdits>): string {
  return compileEdits({ ...NO_EDITS, ...edits })(text)
}

t.test('removes, renames, sets and adds fields', async (t) => {
  const rows: [string, Partial<JsonEdits>, string][] = [
    ['{"a":1,"b":2}', { remove: ['a', 'none'] }, '{"b":2}'],
    ['{"a":1,"b":2}', { rename: { a: 'c', none: 'd' } }, '{"b":2,"c":1}'],
    ['{"a":1,"b":2}', { rename: { a: 'b' } }, '{"b":1}'],
    ['{"a":1}', { rename: { a: 'a' } }, '{"a":1}'],
    ['{"a":1}', { set: { a: [1, { x: null }], b: 'text' } }, '{"a":[1,{"x":null}],"b":"text"}'],
    ['{"a":null}', { add: { a: 1, b: 2 } }, '{"a":null,"b":2}'],
    [' { "u" : { "n" : 1 , "p" : 2 } } ', { remove: ['u.p'] }, '{"u":{"n":1}}'],
    ['{}', { set: { 'a.b.c': 1 }, add: { 'a.b.d': 2 } }, '{"a":{"b":{"c":1,"d":2}}}'],
    ['{"a.b":1}', { rename: { "['a.b']": "['c.d']" } }, '{"c.d":1}'],
  ]
  for (const [text, edits, expected] of rows) t.equal(edit(text, edits), expected, text)
})

t.test('edits run in the order remove, rename, set, add', async (t) => {
  const edits = { add: { a: 4, b: 4 }, set: { b: 3, c: 3 }, rename: { a: 'b' }, remove: ['b'] }
  t.equal(edit('{"a":1,"b":2}', edits), '{"b":3,"c":3,"a":4}')
})

t.test('[*] selects all elements of a list and members of an object', async (t) => {
  const list = '[{"id":1,"x":2},7,{"x":[{"x":1}]},[],null]'
  t.equal(edit(list, { remove: ['[*].x'] }), '[{"id":1},7,{},[],null]')
  t.equal(
    edit('{"m":{"a":{"x":1},"b":{"x":2}}}', { rename: { 'm[*].x': 'y' } }),
    '{"m":{"a":{"y":1},"b":{"y":2}}}',
  )
  t.equal(
    edit('{"a":[[{"x":1}],[{}]]}', { set: { 'a[*][*].x': 0 } }),
    '{"a":[[{"x":0}],[{"x":0}]]}',
  )
  t.equal(edit('{"b":1}', { set: { 'a[*].x': 1 } }), '{"b":1}', 'creates no list')
})

t.test('a path that does not lead to an object has no effect', async (t) => {
  for (const text of ['1', '"a"', 'null', '[{"a":1}]', '{"b":1}', '{"a":"text"}', '{"a":[1]}'])
    t.equal(
      edit(text, { remove: ['a.b'], rename: { 'a.b': 'c' }, set: { 'a[*].b': 1 } }),
      text,
      text,
    )
  t.equal(edit('{"a":null}', { set: { 'a.b': 1 } }), '{"a":null}')
})

t.test('numbers and strings are unchanged', async (t) => {
  const rest = '"n":9007199254740993,"f":1.0,"e":1E+2,"z":-0,"s":"\\u00e9\\/","deep":{ "k": 1e400 }'
  t.equal(edit(`{${rest},"x":1}`, { remove: ['x'] }), `{${rest}}`)
  t.equal(edit(`{"o":{${rest}}}`, { set: { 'o.x': 1 } }), `{"o":{${rest},"x":1}}`)
})

t.test('all members of a repeated or escaped name are removed or replaced', async (t) => {
  const text = '{"admin":1,"a":{"x":1},"\\u0061dmin":2,"a":{"y":2},"admin":3}'
  t.equal(edit(text, { remove: ['admin'] }), '{"a":{"y":2}}')
  t.equal(edit(text, { set: { admin: false, 'a.z': 1 } }), '{"admin":false,"a":{"y":2,"z":1}}')
})

t.test('names of prototype properties are ordinary fields', async (t) => {
  const text = '{"__proto__":{"admin":true},"constructor":1,"a":2}'
  t.equal(edit(text, { remove: ['a'] }), '{"__proto__":{"admin":true},"constructor":1}')
  t.equal(edit(text, { remove: ['__proto__', 'constructor'] }), '{"a":2}')
  t.equal(edit('{}', { set: { '__proto__.admin': true } }), '{"__proto__":{"admin":true}}')
  t.equal(edit('{"a":1}', { rename: { a: '__proto__' } }), '{"__proto__":1}')
  t.equal(
    edit('{}', { remove: ['toString'], rename: { valueOf: 'b' }, add: { toString: 1 } }),
    '{"toString":1}',
  )
  t.equal(({} as { admin?: boolean }).admin, undefined)
})

t.test('deep documents do not overflow the stack', async (t) => {
  const depth = 100_000
  const deep = `${'['.repeat(depth)}${']'.repeat(depth)}`
  t.equal(edit(`{"a":${deep},"b":1}`, { remove: ['b'] }), `{"a":${deep}}`)
})

t.test('rejects a malformed path, name or value', async (t) => {
  t.throws(() => edit('', { remove: ['a..b'] }), /field path must have the form/)
  t.throws(
    () => edit('', { rename: { 'user.name': 'user.title' } }),
    /^the new name of user\.name must be a name without a path, got "user\.title"/,
  )
  t.throws(() => edit('', { set: { a: undefined } }), /the value of a must be JSON, got undefined/)
})
