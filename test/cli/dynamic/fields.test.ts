import t from 'tap'
import { toFields, toFlag, toLeaves } from '../../../cli/dynamic/fields.ts'
import { DESCRIBED } from '../../fixtures/described-endpoint.ts'

t.test('fields have type, default, description and choices', async (t) => {
  const fields = toFields(DESCRIBED)
  const find = (name: string) => fields.find(({ path }) => path.join('.') === name)
  t.match(find('name'), { type: 'string', isRequired: true, description: 'Name of the owner.' })
  t.match(find('count'), { type: 'int64', isRequired: false, default: 3 })
  const safe = fields.filter(({ isSafeInteger }) => isSafeInteger)
  t.same(
    safe.map(({ path }) => path.join('.')),
    ['count', 'ids'],
    'an Int64() is not limited to safe integers',
  )
  t.match(find('kind'), { type: 'string', choices: ['red', 'blue'] })
  t.match(find('options'), {
    isRequired: false,
    fields: [{ path: ['options', 'domain'], isRequired: true }, { path: ['options', 'max_age'] }],
  })
})

t.test('flags of nested fields are joined with _', async (t) => {
  t.same(toLeaves(toFields(DESCRIBED)).map(toFlag), [
    ...['--name', '--count', '--big', '--is_open', '--kind', '--ids', '--tags', '--labels'],
    ...['--options_domain', '--options_max_age', '--options_domain', '--env'],
  ])
})

t.test('with a missing or invalid schema, fields come from the registry entry', async (t) => {
  for (const metadata of [{}, { requestSchema: '{' }, { requestSchema: 'null' }])
    t.match(toFields({ ...DESCRIBED, metadata })[0], {
      path: ['name'],
      type: 'string',
      isRequired: false,
    })
})
