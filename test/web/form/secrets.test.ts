import t from 'tap'
import { toField } from '../../../web/form/field.ts'
import { maskSecrets, withoutSecrets } from '../../../web/form/secrets.ts'

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
      ...{ pair: [given, 'x'], unknown: { note: 'of nobody' } },
    }),
    {
      ...{ inner: left, list: [left], map: { a: left }, either: left, pair: [left, 'x'] },
      unknown: { note: 'of nobody' },
    },
  )
  t.equal(withoutSecrets(form, null), null)
  t.equal(withoutSecrets(form, 'x'), 'x')
  t.end()
})

t.test('so are lists of secrets, and unions with one', (t) => {
  const secret = { type: 'string', writeOnly: true }
  const either = { anyOf: [secret, { type: 'object', properties: { id: { type: 'string' } } }] }
  const form = toField({
    type: 'object',
    properties: {
      ...{ keys: { type: 'array', items: secret }, pair: { prefixItems: [secret], type: 'array' } },
      ...{ either, all: { type: 'array', items: either } },
      open: { type: 'object', additionalProperties: secret },
      mixed: { type: 'array', prefixItems: [{ type: 'string' }], items: secret },
    },
    additionalProperties: secret,
  })
  const request = {
    ...{ keys: ['S', 'S'], pair: ['S'], either: 'S', all: ['S'], open: { a: 'S' } },
    ...{ mixed: ['x', 'S'], unnamed: 'S' },
  }
  t.same(withoutSecrets(form, request), { keys: [], pair: [], all: [], open: {} })
  t.same(maskSecrets(form, request), {
    ...{ keys: ['********', '********'], pair: ['********'], either: '********' },
    ...{ all: ['********'], open: { a: '********' }, mixed: '********', unnamed: '********' },
  })
  t.same(withoutSecrets(toField(secret), 'S'), {})
  t.end()
})

t.test('texts are secret by their names, too, and logins in URLs: there may be no schema', (t) => {
  const request = {
    ...{ password: 'S', token: 'S', api_key: 'S', secrets: ['S'], max_tokens: 5, name: 'Ann' },
    ...{ inner: [{ userPassword: 'S', id: 1 }], url: 'https://ann:S@host/x' },
  }
  const left = {
    ...{ secrets: [], max_tokens: 5, name: 'Ann', inner: [{ id: 1 }] },
    url: 'https://********@host/x',
  }
  t.same(withoutSecrets(toField({}), request), left)
  const form = toField({
    type: 'object',
    properties: {
      ...{ password: { type: 'string' }, name: { type: 'string' } },
      token_type: { enum: ['bearer', 'basic'] },
    },
  })
  t.same(withoutSecrets(form, { password: 'S', name: 'Ann', token_type: 'basic' }), {
    ...{ name: 'Ann', token_type: 'basic' },
  })
  t.same(maskSecrets(form, { password: 'S' }), { password: '********' })
  t.end()
})

t.test('of alternatives that contain each other what cannot be looked through is secret', (t) => {
  const self = { $ref: '#/$defs/A' }
  const node = (more: object) => ({ type: 'object', properties: { a: self, ...more } })
  const form = toField({
    ...self,
    $defs: { A: { anyOf: [node({}), node({ b: { type: 'string', writeOnly: true } })] } },
  })
  const nest = (levels: number): object => (levels === 0 ? { b: 'S' } : { a: nest(levels - 1) })
  t.same(withoutSecrets(form, nest(3)), { a: { a: { a: {} } } })
  t.same(withoutSecrets(form, nest(60)), {})
  t.equal(maskSecrets(form, nest(60)), '********')
  t.end()
})
