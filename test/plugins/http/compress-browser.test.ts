import * as zlib from 'node:zlib'
import { chromium } from 'playwright-core'
import t from 'tap'
import compress from '../../../plugins/http/compress.ts'
import { buildPlugin } from '../../../sdk/testing.ts'
import { CHROMIUM_FLAGS } from '../../fixtures/chromium.ts'
import { openGateway } from '../../fixtures/gateway.ts'
import { listenHttp } from '../../fixtures/listen.ts'
import { skipUnless } from '../../fixtures/servers.ts'

const TEXT = `start ${'mx '.repeat(10_000)}end`
/** zstd is available from Node.js 22.15. */
const CODINGS = 'createZstdCompress' in zlib ? ['zstd', 'br', 'gzip'] : ['br', 'gzip']

t.test(
  'Chromium decodes a page, and a page sent in pieces, in the default coding and in each other',
  async (t) => {
    const executablePath = skipUnless(t, 'chromium-headless-shell')
    if (executablePath === undefined) return
    const port = await listenHttp(t, ({ url = '' }, reply) => {
      const isWhole = url.endsWith('whole')
      reply.setHeader('content-type', 'text/html')
      if (isWhole) reply.setHeader('content-length', TEXT.length)
      reply.write(TEXT.slice(0, 1000))
      setImmediate(() => reply.end(TEXT.slice(1000)))
    })
    const browser = await chromium.launch({ executablePath, args: [...CHROMIUM_FLAGS] })
    t.teardown(() => browser.close())
    const cases: [string | undefined, object][] = [
      [CODINGS[0], {}],
      ...CODINGS.map((coding): [string, object] => [coding, { encodings: [coding] }]),
    ]
    for (const [coding, options] of cases) {
      const plugin = await buildPlugin(compress, options)
      const { origin } = await openGateway(t, { shop: [port] }, { plugins: [plugin] })
      const page = await browser.newPage()
      for (const path of ['whole', 'pieces']) {
        const reply = await page.goto(`${origin}/shop/${path}`)
        t.equal(reply!.headers()['content-encoding'], coding, `${coding}, ${path}`)
        t.equal(await page.evaluate('document.body.textContent'), TEXT)
        const { responseBodySize } = await reply!.request().sizes()
        t.ok(responseBodySize < 1000, `${responseBodySize} bytes`)
      }
      await page.close()
    }
  },
)
