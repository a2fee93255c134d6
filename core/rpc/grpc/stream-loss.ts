import { type ClientHttp2Stream, constants } from 'node:http2'

/** HTTP status by HTTP/2 reset code (RFC 9113 §7), as in the gRPC HTTP/2 Transport Mapping; others map to 500. */
const RESETS: ReadonlyMap<number, number> = new Map([
  [constants.NGHTTP2_CANCEL, 499],
  [constants.NGHTTP2_ENHANCE_YOUR_CALM, 429],
  [constants.NGHTTP2_INADEQUATE_SECURITY, 403],
])

/** Describes the error for a stream that ended before its response. */
export function describeLoss(
  { rstCode = 0 }: ClientHttp2Stream,
  isLost: boolean,
  isUnserved: boolean,
  isEnded: boolean,
): { readonly code: number; readonly detail: string } {
  if (isLost)
    return {
      code: 502,
      detail: 'bad gateway: the backend closed the connection before the end of its response',
    }
  if (isUnserved) return { code: 503, detail: 'the backend accepts no more calls' }
  if (isEnded) return { code: 500, detail: 'the backend response has no grpc-status' }
  return {
    code: RESETS.get(rstCode) ?? 500,
    detail: `the backend reset the call (RST_STREAM ${rstCode})`,
  }
}
