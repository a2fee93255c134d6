import t from 'tap'
import type { Endpoint } from '../../../core/contracts/registry.ts'
import { schemaOf } from '../../../sdk/schema/endpoint-schema.ts'
import { emptyDraft } from '../../../web/form/draft.ts'
import { type Field, toField } from '../../../web/form/field.ts'
import { fromRequest } from '../../../web/form/from-request.ts'
import { toRequest } from '../../../web/form/to-request.ts'
import { openServer } from '../../fixtures/server.ts'

/** Keywords that do not constrain a value. */
const ANNOTATIONS = ['$defs', 'default', 'description', 'title', 'type']

/** Paths of fields entered as JSON although their schema has constraints. */
function findJson(field: Field, path: string, depth = 0): readonly string[] {
  if (field.kind === 'json')
    return Object.keys(field.schema).every((key) => ANNOTATIONS.includes(key)) ? [] : [path]
  if (depth > 4) return []
  const inner = field.item === undefined ? [] : findJson(field.item, `${path}[]`, depth + 1)
  return [
    ...inner,
    ...field.parts.flatMap((part) => findJson(part, `${path}.${part.name}`, depth + 1)),
  ]
}

t.test('every endpoint of the built-in services has a form', async (t) => {
  const server = await openServer(t)
  const { body } = await server.post('/registry/listServices', {})
  const services: readonly { name: string; endpoints: readonly Endpoint[] }[] = body.services
  t.ok(services.length >= 8, services.map(({ name }) => name).join())
  for (const { name, endpoints } of services)
    for (const endpoint of endpoints) {
      const label = `${name} ${endpoint.name}`
      const form = toField(schemaOf(endpoint, 'request'))
      t.same(findJson(form, 'request'), [], `${label}: no field falls back to JSON`)
      const empty = emptyDraft(form)
      const { value, problems } = toRequest(form, empty)
      for (const { message } of problems) t.equal(message, 'is required', label)
      if (problems.length === 0)
        t.same(toRequest(form, fromRequest(form, value)).value, value, label)
    }
})
