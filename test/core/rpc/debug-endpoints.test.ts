import t from 'tap'
import { isDebugEndpoint, isHiddenFromClients } from '../../../core/rpc/debug-endpoints.ts'

t.test('Debug endpoints other than Health are for operators', (t) => {
  for (const method of ['Log', 'Trace', 'Stats', 'Other']) t.ok(isDebugEndpoint(`Debug.${method}`))
  for (const endpoint of ['Debug.Health', 'Greeter.Call', 'Debugger.Log'])
    t.notOk(isDebugEndpoint(endpoint), endpoint)
  t.end()
})

t.test('clients of a gateway cannot call operator endpoints or Network.Link', (t) => {
  t.ok(isHiddenFromClients('greeter', 'Debug.Log'))
  t.ok(isHiddenFromClients('network', 'Network.Link'))
  for (const endpoint of ['Debug.Health', 'Network.Graph'])
    t.notOk(isHiddenFromClients('network', endpoint), endpoint)
  t.notOk(isHiddenFromClients('greeter', 'Network.Link'))
  t.end()
})
