import t from 'tap'
import { parse } from 'yaml'
import { gateway } from '../../../cli/scaffold/gateway.ts'
import { parseConfig } from '../../../platform/config/parse-file.ts'
import { loadPlugin } from '../../../platform/plugins/load.ts'
import { createTestEnv } from '../../../sdk/testing.ts'

t.test('the gateway template has a configuration with a service, and next steps', (t) => {
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

t.test('the suggested plugins load with the suggested options', async (t) => {
  const text = gateway.files('edge')['mx.yaml']!.replace(/^# (?=plugins:| {2}-)|^#(?= {3}-)/gm, '')
  const { plugins = [] } = parseConfig(text, 'mx.yaml')
  t.ok(plugins.length > 0)
  const env = createTestEnv(t.testdir({}))
  for (const { specifier, options } of plugins)
    await t.resolves(loadPlugin(specifier, options, env), specifier)
})
