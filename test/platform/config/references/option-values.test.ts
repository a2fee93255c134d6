import t from 'tap'
import { Type } from '../../../../core/schema.ts'
import {
  convertOptions,
  displayOptions,
} from '../../../../platform/config/references/option-values.ts'

const SCHEMA = Type.Object({
  count: Type.Integer(),
  ratio: Type.Number(),
  isOn: Type.Boolean(),
  text: Type.String(),
  limit: Type.Union([Type.Integer(), Type.Literal('none')]),
  list: Type.Array(Type.Object({ n: Type.Integer() })),
  'a/b': Type.Record(Type.String(), Type.Integer()),
})

t.test('converts values of references to the type in their schema', (t) => {
  const options = {
    ...{ count: '5', ratio: '0.5', isOn: 'true', text: '5', limit: '7' },
    list: [{ n: '1' }, { n: '2' }],
    'a/b': { x: '3' },
  }
  const pointers = ['/count', '/ratio', '/isOn', '/text', '/limit', '/list/1/n', '/a~1b/x']
  const references = new Map(pointers.map((pointer) => [pointer, `\${X}`]))
  t.same(convertOptions(options, references, SCHEMA), {
    ...{ count: 5, ratio: 0.5, isOn: true, text: '5', limit: 7 },
    // Written in the file, not as a reference.
    list: [{ n: '1' }, { n: 2 }],
    'a/b': { x: 3 },
  })
  const none = { ...options, limit: 'none', count: 'many' }
  t.match(convertOptions(none, references, SCHEMA), { limit: 'none', count: 'many' })
  t.end()
})

t.test('shows references instead of their values', (t) => {
  const options = { token: 'hunter2', list: ['a', 'b'] }
  const references = new Map([
    ['/token', `\${TOKEN}`],
    ['/list/1', `\${B}`],
  ])
  t.same(displayOptions(options, references), { token: `\${TOKEN}`, list: ['a', `\${B}`] })
  t.same(options.list, ['a', 'b'], 'the options are unchanged')
  t.end()
})
