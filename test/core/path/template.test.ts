import t from 'tap'
import { parseTemplate } from '../../../core/path/template.ts'

t.test('a template is parsed into segments, variables and verb', async (t) => {
  const rows: [string, string[], [string, number, number][], string][] = [
    ['/', [], [], ''],
    ['/users', ['users'], [], ''],
    ['/users/', ['users'], [], ''],
    ['/users/*', ['users', '*'], [], ''],
    ['/users/{id}', ['users', '*'], [['id', 1, 2]], ''],
    [
      '/{user.id}/x/{a_b.c1}',
      ['*', 'x', '*'],
      [
        ['user.id', 0, 1],
        ['a_b.c1', 2, 3],
      ],
      '',
    ],
    ['/v1/{name=shelves/*}/books', ['v1', 'shelves', '*', 'books'], [['name', 1, 3]], ''],
    ['/files/{path=**}', ['files', '**'], [['path', 1, 2]], ''],
    [
      '/{a=**}/tail/{b}',
      ['**', 'tail', '*'],
      [
        ['a', 0, 1],
        ['b', 2, 3],
      ],
      '',
    ],
    ['/{a=x/**/y}:go', ['x', '**', 'y'], [['a', 0, 3]], 'go'],
    ['/users/{id}:cancel', ['users', '*'], [['id', 1, 2]], 'cancel'],
    ['/users:batchGet', ['users'], [], 'batchGet'],
    ['/caf%C3%A9/a%20b/~$&', ['café', 'a b', '~$&'], [], ''],
    ['/.well-known/x.json', ['.well-known', 'x.json'], [], ''],
  ]
  for (const [text, segments, variables, verb] of rows) {
    const expected = variables.map(([name, start, end]) => ({ name, start, end }))
    t.same(parseTemplate(text), { segments, variables: expected, verb }, text)
  }
})

t.test('a malformed template is rejected, and the error names the expected form', async (t) => {
  const rows: [string, RegExp][] = [
    ['', /begin with \//],
    ['users', /begin with \//],
    ['*', /begin with \//],
    ['//', /empty/],
    ['/a//b', /empty/],
    ['/:go', /empty/],
    ['/a*', /literal, \*/],
    ['/***', /literal, \*/],
    ['/a b', /literal, \*/],
    ['/a?b', /literal, \*/],
    ['/é', /literal, \*/],
    ['/a{b}', /not a combination/],
    ['/{a}b', /not a combination/],
    ['/{a}}', /not a combination/],
    ['/{', /\{name\}/],
    ['/{}', /\{name\}/],
    ['/{1a}', /\{name\}/],
    ['/{a-b}', /\{name\}/],
    ['/{a.}', /\{name\}/],
    ['/{a={b}}', /\{name\}/],
    ['/{a=}', /empty/],
    ['/{a=b//c}', /empty/],
    ['/{a=b:c}', /literal, \*/],
    ['/**/**', /once/],
    ['/{a=**}/b/**', /once/],
    ['/{a}/{a}', /duplicate variable a/],
    ['/{__proto__}', /must not be named/],
    ['/{a.constructor.b}', /must not be named/],
    ['/a:b/c', /verb at the end/],
    ['/a:', /verb at the end/],
    ['/a:b:c', /verb at the end/],
    ['/..', /cannot match any path/],
    ['/a/%2e', /cannot match any path/],
    ['/a%2fb', /cannot match any path/],
    ['/a%00', /cannot match any path/],
    ['/%ff', /cannot match any path/],
    ['/%zz', /literal, \*/],
    [`/${'a/'.repeat(33)}`, /32 segments/],
    [`/${'a'.repeat(1024)}`, /1024 characters/],
  ]
  for (const [text, message] of rows)
    t.throws(() => parseTemplate(text), { name: 'RangeError', message }, JSON.stringify(text))
})
