import { RequestValidator } from '../../core/listener/request-validator.ts'
import { BROWSER_FIELDS } from './bench-exchange.ts'
import type { Micro } from './micro.ts'

const guard = new RequestValidator()
const browser = ['host', 'localhost:8080', ...BROWSER_FIELDS, 'connection', 'keep-alive']
const post = ['host', 'localhost:8080', 'content-type', 'application/json', 'content-length', '256']

function capture(fields: readonly string[], method: string) {
  guard.reset()
  for (let i = 0; i < fields.length; i += 2) guard.add(fields[i]!, fields[i + 1]!)
  return guard.validate(method, '/greeter/hello', '')
}

const micro: Micro = {
  benches: {
    'GET with 1 header': () => capture(browser.slice(0, 2), 'GET'),
    'GET of a browser, 7 headers': () => capture(browser, 'GET'),
    'POST with a body, 3 headers': () => capture(post, 'POST'),
  },
}

export default micro
