import t from 'tap'
import { toField } from '../../../web/form/field.ts'
import { withoutSecrets } from '../../../web/form/secrets.ts'

t.test('what a schema calls secret is not kept, however deep it lies', (t) => {
  const secret = { type: 'string', writeOnly: true }
  const inner = { type: 'object', properties: { secret, id: { type: 'string' } } }
  const form = toField({
    type: 'object',
    properties: {
      ...{ secret, inner },
      list: { type: 'array', items: inner },
      map: { type: 'object', additionalProperties: inner },
      either: { anyOf: [{ type: 'string' }, inner] },
      pair: { type: 'array', prefixItems: [inner, { type: 'string' }] },
    },
  })
  const given = { secret: 'S', id: 'kept' }
  const left = { id: 'kept' }
  t.same(
    withoutSecrets(form, {
      ...{ secret: 'S', inner: given, list: [given], map: { a: given }, either: given },
      ...{ pair: [given, 'x'], unknown: { secret: 'of nobody' } },
    }),
    {
      ...{ inner: left, list: [left], map: { a: left }, either: left, pair: [left, 'x'] },
      unknown: { secret: 'of nobody' },
    },
  )
  t.equal(withoutSecrets(form, null), null)
  t.equal(withoutSecrets(form, 'x'), 'x')
  t.end()
})
