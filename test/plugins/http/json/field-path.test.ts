import t from 'tap'
import { EACH, parseFieldPath } from '../../../../plugins/http/json/field-path.ts'

t.test('names, brackets and wildcards are segments', async (t) => {
  const rows: [string, unknown[]][] = [
    ['user', ['user']],
    ['user.name', ['user', 'name']],
    ['$.user.name', ['user', 'name']],
    ["$['user']", ['user']],
    ['$ref', ['$ref']],
    ['items[*].price', ['items', EACH, 'price']],
    ['[*].id', [EACH, 'id']],
    ['[*][*].id', [EACH, EACH, 'id']],
    ["['a.b']", ['a.b']],
    [`a["b c"].d['e"']`, ['a', 'b c', 'd', 'e"']],
    ['user-name.größe', ['user-name', 'größe']],
    ['__proto__.x', ['__proto__', 'x']],
  ]
  for (const [text, path] of rows) t.strictSame(parseFieldPath(text), path, text)
})

t.test('rejects a malformed path with examples', async (t) => {
  for (const text of [
    ...['', '.', '.a', 'a.', 'a..b', 'a b', 'a[', 'a[]', 'a[0]', "a['']", 'a[*]', '[*]', 'a[*]b'],
    ...['$.', '$..a', '[*', 'a]', "['a'", "'a'", '*.[*]'],
  ])
    t.throws(
      () => parseFieldPath(text),
      /^a field path must have the form user\.name, items\[\*\]\.price or \['a\.b'\], got "/,
      text,
    )
})
