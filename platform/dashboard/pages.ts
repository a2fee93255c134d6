import { GatewayError } from '../../core/errors.ts'
import type { Exchange } from '../../core/exchange.ts'
import { ID } from './id.ts'
import { findFolder, openWebFiles } from './web-files.ts'

const INDEX = 'index.html'
const HTML = ['content-type', 'text/html; charset=utf-8']
/** File names contain a content hash. */
const IMMUTABLE = 'public, max-age=31536000, immutable'
const ASSETS = '/assets/'

/**
 * Serves the files of the front end, and its single document at every other path (client-side routing).
 *
 * @param folder of the built front end.
 */
export function createPages(folder: string = findFolder()): (x: Exchange) => Promise<void> {
  const files = openWebFiles(folder)
  return async (x) => {
    if (x.method !== 'GET' && x.method !== 'HEAD')
      throw new GatewayError(
        ID,
        405,
        `method ${x.method} not allowed for ${x.path}; expected GET`,
        {
          headers: ['allow', 'GET, HEAD'],
        },
      )
    const name = x.path.slice(1)
    const file =
      name === INDEX ? undefined : await files.find(name, x.headers.get('accept-encoding'))
    if (file !== undefined) {
      const { type, encoding, body } = file
      return x.reply(200, body, [
        ...['content-type', type, 'vary', 'accept-encoding'],
        ...['cache-control', x.path.startsWith(ASSETS) ? IMMUTABLE : 'no-cache'],
        ...(encoding === undefined ? [] : ['content-encoding', encoding]),
      ])
    }
    if (x.path.startsWith(ASSETS) || x.path.startsWith('/.'))
      throw new GatewayError(ID, 404, `file not found: ${x.path}`)
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
<p>The server is running, but the files of its dashboard are missing. Build them with <code>npm run build</code>.</p>
</body>
</html>
`
