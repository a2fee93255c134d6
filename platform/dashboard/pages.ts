import { GatewayError } from '../../core/errors.ts'
import type { Exchange } from '../../core/exchange.ts'
import { ID } from './id.ts'
import { findFolder, openWebFiles } from './web-files.ts'

const INDEX = 'index.html'
const HTML = ['content-type', 'text/html; charset=utf-8']
/** Their names change with what they hold. */
const FOREVER = 'public, max-age=31536000, immutable'
const ASSETS = '/assets/'

/**
 * Serves the front end: its files, and its one document at every other path, since which page that is the document itself decides.
 *
 * @param folder where it was built.
 */
export function createPages(folder: string = findFolder()): (x: Exchange) => Promise<void> {
  const files = openWebFiles(folder)
  return async (x) => {
    if (x.method !== 'GET' && x.method !== 'HEAD')
      throw new GatewayError(ID, 405, `${x.path} takes GET, got ${x.method}`, {
        headers: ['allow', 'GET, HEAD'],
      })
    const name = x.path.slice(1)
    const file =
      name === INDEX ? undefined : await files.find(name, x.headers.get('accept-encoding'))
    if (file !== undefined) {
      const { type, encoding, body } = file
      return x.reply(200, body, [
        ...['content-type', type, 'vary', 'accept-encoding'],
        ...['cache-control', x.path.startsWith(ASSETS) ? FOREVER : 'no-cache'],
        ...(encoding === undefined ? [] : ['content-encoding', encoding]),
      ])
    }
    if (x.path.startsWith(ASSETS) || x.path.startsWith('/.'))
      throw new GatewayError(ID, 404, `there is no file ${x.path}`)
    const document = await files.read(INDEX)
    if (document === undefined) x.reply(503, NOT_BUILT, HTML)
    else x.reply(200, document, HTML)
  }
}

const NOT_BUILT = `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>mx: the dashboard is not built</title></head>
<body>
<h1>The dashboard is not built</h1>
<p>The server runs, but the pages of its dashboard are missing: <code>npm run build</code> makes them.</p>
</body>
</html>
`
