import t from 'tap'
import { createReadiness } from '../../../platform/admin/readiness.ts'

t.test('is ready while it serves without problems and until it shuts down', async (t) => {
  const readiness = createReadiness()
  const problems = ['the registry has not responded yet']
  t.same(await readiness.problems(), ['starting'])
  readiness.serve(() => problems)
  t.ok(readiness.isServing)
  t.same(await readiness.problems(), ['the registry has not responded yet'])
  problems.pop()
  t.same(await readiness.problems(), [])
  readiness.leave()
  t.notOk(readiness.isServing)
  t.same(await readiness.problems(), ['draining'])
})

t.test('is never ready if it was stopped during startup', async (t) => {
  const readiness = createReadiness()
  readiness.leave()
  readiness.serve(() => [])
  t.same(await readiness.problems(), ['draining'])
})
