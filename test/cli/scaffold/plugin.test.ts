import t from 'tap'
import { plugin } from '../../../cli/scaffold/plugin.ts'

t.test('a plugin: its hook and option, a test, and a configuration that lists it', (t) => {
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
