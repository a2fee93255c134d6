import t from 'tap'
import { toFields } from '../../../cli/dynamic/fields.ts'
import { formatEndpointHelp, formatServiceHelp } from '../../../cli/dynamic/help.ts'
import { DESCRIBED } from '../../fixtures/described-endpoint.ts'

t.test('service help lists endpoints with their descriptions', async (t) => {
  const endpoints = [
    { ...DESCRIBED, metadata: { description: 'Shows.', stream: 'true' } },
    { ...DESCRIBED, name: 'Greeter.Call', metadata: {} },
  ]
  const service = { name: 'greeter', version: 'latest', metadata: {}, endpoints, nodes: [] }
  t.equal(
    formatServiceHelp('greeter', [service]),
    'NAME:\n\tmx greeter\n\nVERSION:\n\tlatest\n\nUSAGE:\n\tmx greeter [command]\n\nCOMMANDS:\n' +
      '\tcall\n\tmirror show  Shows. (stream)\n',
  )
})

t.test('endpoint help lists fields with types, defaults and descriptions', async (t) => {
  const help = formatEndpointHelp('mirror', DESCRIBED, toFields(DESCRIBED))
  t.match(
    help,
    /^NAME:\n\tmx mirror show\n\nDESCRIPTION:\n\tShows its input\.\n\nUSAGE:\n\tmx mirror show \[flags\]\n\nFLAGS:\n\t--name string +Name of the owner\. \(required\)\n/,
  )
  t.match(help, /\n\t--count int64 +\(default: 3\)\n/)
  t.match(help, /\n\t--kind string +One of red, blue\.\n/)
  t.match(help, /\n\t--labels map\[string\]string\n/)
  t.match(help, /\nEXAMPLE:\n\tmx mirror show --name=<string>\n/)
  t.match(help, /\n\t--json <request> +\S/)
})
