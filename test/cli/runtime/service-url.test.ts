import { execFileSync } from 'node:child_process'
import t from 'tap'
import { formatCurl } from '../../../cli/runtime/service-url.ts'

const ROUTE = { endpoint: 'Shop.Get', methods: [] as string[], hosts: [], path: '/shop/get' }

t.test('a curl command for a plain GET has no quotes', async (t) => {
  t.equal(formatCurl('http://127.0.0.1:8080/shop', ROUTE, []), 'curl http://127.0.0.1:8080/shop')
})

t.test('values from the server are quoted and cannot run commands', async (t) => {
  const url = "http://127.0.0.1:8080/a;touch$(id)'`x`"
  const values = [['name', "O'Brien; $HOME"]] as const
  for (const [methods, result] of [
    [[], `${url}?name=O%27Brien%3B+%24HOME`],
    [['POST;id'], url],
  ] as const) {
    const command = formatCurl(url, { ...ROUTE, methods }, values)
    const script = `curl() { printf '%s\\n' "$@"; }; ${command}`
    const args = execFileSync('sh', ['-c', script], { encoding: 'utf8' }).trimEnd().split('\n')
    t.equal(args.at(-1), result)
    if (methods.length > 0)
      t.strictSame(args.slice(0, -1), [
        ...['-X', 'POST;id', '-H', 'Content-Type: application/json'],
        ...['-d', '{"name":"O\'Brien; $HOME"}'],
      ])
  }
})
