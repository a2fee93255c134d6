import t from 'tap'
import { isDeclaredRepeatable } from '../../../core/registry/repeatable-endpoint.ts'

t.test('an endpoint is repeatable if declared idempotent or read-only', async (t) => {
  const value = { name: '', type: '', values: [] }
  const rows = [
    [{ idempotent: 'true' }, true],
    [{ readOnly: 'true' }, true],
    [{ idempotent: 'false' }, false],
    [{ idempotent: 'false', readOnly: 'true' }, false],
    [{ readOnly: 'false' }, undefined],
    [{}, undefined],
  ] as const
  for (const [metadata, expected] of rows) {
    const endpoint = { name: 'A.B', request: value, response: value, metadata }
    t.equal(isDeclaredRepeatable(endpoint), expected, JSON.stringify(metadata))
  }
  t.equal(isDeclaredRepeatable(undefined), undefined)
})
