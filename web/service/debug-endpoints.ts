import type { Endpoint } from '../../core/contracts/registry.ts'
import type { JsonSchema } from '../../sdk/schema/json-schema.ts'

const ANY = { name: '', type: 'any', values: [] }

/** What every service that speaks the call protocol has besides, and registers not (reference 12). */
export const DEBUG_ENDPOINTS: readonly Endpoint[] = [
  describe('Debug.Health', 'Whether the service answers.', {}),
  describe('Debug.Log', 'The last lines of the log, at most 256.', {
    count: { type: 'integer', minimum: 0, default: 0, description: 'Lines; 0: all.' },
    since: { type: 'integer', minimum: 0, default: 0, description: 'Seconds ago; 0: ever.' },
  }),
  describe('Debug.Stats', 'What the service has done, and what it takes.', {}),
  describe('Debug.Trace', 'The last calls, at most 256.', {
    id: { type: 'string', default: '', description: 'Of one trace; empty: all.' },
  }),
]

function describe(
  name: string,
  description: string,
  properties: Readonly<Record<string, JsonSchema>>,
): Endpoint {
  const requestSchema = JSON.stringify({ type: 'object', properties })
  return { name, request: ANY, response: ANY, metadata: { description, requestSchema } }
}
