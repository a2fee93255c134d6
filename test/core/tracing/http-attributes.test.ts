import t from 'tap'
import { describeReply, describeRequest } from '../../../core/tracing/http-attributes.ts'
import { runPlugin } from '../../../sdk/testing.ts'

t.test('span attributes have low cardinality and omit the query', async (t) => {
  const { x } = await runPlugin(
    { name: 'none' },
    { method: 'PROPFIND', path: '/a?token=1', host: '[::1]:8080', headers: { 'user-agent': 'ua' } },
  )
  t.match(describeRequest(x), {
    'http.request.method': '_OTHER',
    'http.request.method_original': 'PROPFIND',
    'url.path': '/a',
    'server.address': '::1',
    'server.port': 8080,
    'user_agent.original': 'ua',
  })
  t.notMatch(JSON.stringify(describeRequest(x)), 'token')
  const { name, attributes } = describeReply(x)
  t.equal(name, 'HTTP', 'an unknown service is not part of the span name')
  t.equal(attributes['http.response.status_code'], 200)
})
