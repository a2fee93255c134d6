import t from 'tap'
import { isForOperators } from '../../../core/rpc/operators-endpoint.ts'

t.test('what services tell of themselves is for operators, that they are well is for all', (t) => {
  for (const method of ['Log', 'Trace', 'Stats', 'Other']) t.ok(isForOperators(`Debug.${method}`))
  for (const endpoint of ['Debug.Health', 'Greeter.Call', 'Debugger.Log'])
    t.notOk(isForOperators(endpoint), endpoint)
  t.end()
})
