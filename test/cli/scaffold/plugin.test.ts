import t from 'tap'
import { plugin } from '../../../cli/scaffold/plugin.ts'

t.test('the plugin template has a plugin, a test and a configuration', (t) => {
  const files = plugin.files('x-served')
  t.match(files['x-served.ts'], "name: 'x-served'")
  t.match(files['x-served.test.ts'], "import xServed from './x-served.ts'")
  t.match(files['mx.yaml'], '  - ./x-served.ts:\n      value: hello\n')
  t.match(
    plugin.next('x-served').map(([line]) => line),
    ['npm install', 'npm test', 'mx api check', 'mx api'],
  )
  t.end()
})
