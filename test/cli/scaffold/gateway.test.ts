import t from 'tap'
import { parse } from 'yaml'
import { gateway } from '../../../cli/scaffold/gateway.ts'

t.test('a gateway: a configuration with a service, and what to do with it', (t) => {
  const files = gateway.files('edge')
  t.same(Object.keys(files), ['mx.yaml', 'README.md'])
  t.match(parse(files['mx.yaml']!), {
    handler: 'proxy',
    services: { greeter: ['127.0.0.1:9001', '127.0.0.1:9002'] },
  })
  t.match(files['README.md'], /^# edge\n/)
  t.match(gateway.next('edge')[0], ['mx api check', String])
  t.end()
})
