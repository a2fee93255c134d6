import { Exchange } from '../../core/exchange.ts'
import { appendParsed, HeaderList } from '../../core/http/headers.ts'

/** Headers of a browser request, as stored by a listener. */
export const BROWSER_FIELDS: readonly string[] = [
  ...['accept', 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'],
  ...['accept-encoding', 'gzip, deflate, br'],
  ...['accept-language', 'en-US,en;q=0.5'],
  ...['cookie', 'session=2f6b9c1e77d04a1c; theme=dark'],
  ...['user-agent', 'Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0'],
]

/** An exchange without a client and sockets that discards the response. */
export class BenchExchange extends Exchange {
  readonly remoteAddress = '192.0.2.7'

  constructor(fields: readonly string[] = [], path = '/greeter/hello', host = 'localhost:8080') {
    const headers = new HeaderList()
    for (let i = 0; i < fields.length; i += 2) appendParsed(headers, fields[i]!, fields[i + 1]!)
    super('GET', path, '', host, headers, false, 0, false)
  }

  override tunnel(): Promise<void> {
    return Promise.resolve()
  }

  override accept(): undefined {}

  protected override transmit(): void {
    this.finish()
  }

  protected override transmitHead(): void {}

  protected override transmitChunk(): boolean {
    return true
  }

  protected override transmitEnd(): void {
    this.finish()
  }

  protected override closeConnection(): void {
    this.abort()
  }

  protected override pauseRead(): void {}

  protected override resumeRead(): void {}
}
