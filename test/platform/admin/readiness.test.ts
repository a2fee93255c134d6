import t from 'tap'
import { createReadiness } from '../../../platform/admin/readiness.ts'

t.test('a process is ready from when it serves and lacks nothing, until it leaves', async (t) => {
  const readiness = createReadiness()
  const lacks = ['the registry has not answered yet']
  t.same(await readiness.problems(), ['starting: it does not serve yet'])
  readiness.serve(() => lacks)
  t.ok(readiness.isServing)
  t.same(await readiness.problems(), ['the registry has not answered yet'])
  lacks.pop()
  t.same(await readiness.problems(), [])
  readiness.leave()
  t.notOk(readiness.isServing)
  t.same(await readiness.problems(), ['ending: it drains'])
})

t.test('one that was asked to end while it started is never ready', async (t) => {
  const readiness = createReadiness()
  readiness.leave()
  readiness.serve(() => [])
  t.same(await readiness.problems(), ['ending: it drains'])
})
