import t from 'tap'
import type { Endpoint } from '../../../core/contracts/registry.ts'
import { schemaOf } from '../../../sdk/schema/endpoint-schema.ts'
import { emptyDraft } from '../../../web/form/draft.ts'
import { type Field, toField } from '../../../web/form/field.ts'
import { fromRequest } from '../../../web/form/from-request.ts'
import { toRequest } from '../../../web/form/to-request.ts'
import { openServer } from '../../fixtures/server.ts'

/** What a schema may say of anything at all. */
const SILENT = ['$defs', 'default', 'description', 'title', 'type']

/** Paths of fields that are typed as JSON though their schemas say more, down to a depth. */
function findJson(field: Field, path: string, depth = 0): readonly string[] {
  if (field.kind === 'json')
    return Object.keys(field.schema).every((key) => SILENT.includes(key)) ? [] : [path]
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
      const what = `${name} ${endpoint.name}`
      const form = toField(schemaOf(endpoint, 'request'))
      t.same(findJson(form, 'request'), [], `${what}: all that is known has controls`)
      const empty = emptyDraft(form)
      const { value, problems } = toRequest(form, empty)
      for (const { message } of problems) t.equal(message, 'is missing', what)
      if (problems.length === 0)
        t.same(toRequest(form, fromRequest(form, value)).value, value, what)
    }
})
