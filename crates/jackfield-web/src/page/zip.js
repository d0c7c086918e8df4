// The files of a zip archive, as far as exports need it: stored or deflated, without encryption. Only what is asked for is
// read.

const MAX_DIRECTORY = 64 << 20;

const view = async (blob) => new DataView(await blob.arrayBuffer());

// The files, each with its name and `text()`, which gives at most so many bytes.
export async function archive(file) {
  const tailAt = Math.max(0, file.size - 65_577);
  const tail = await view(file.slice(tailAt));
  let end = tail.byteLength - 22;
  while (end >= 0 && tail.getUint32(end, true) !== 0x06054b50) end -= 1;
  if (end < 0) throw new RangeError('no archive');
  let [size, at] = [tail.getUint32(end + 12, true), tail.getUint32(end + 16, true)];
  // The directory of a large archive is found by another record before this one.
  if (end >= 20 && tail.getUint32(end - 20, true) === 0x07064b50) {
    const large = Number(tail.getBigUint64(end - 12, true));
    const record = await view(file.slice(large, large + 56));
    [size, at] = [Number(record.getBigUint64(40, true)), Number(record.getBigUint64(48, true))];
  }
  if (size > MAX_DIRECTORY) throw new RangeError('too many files');
  const directory = await view(file.slice(at, at + size));
  const entries = [];
  for (let place = 0; place + 46 <= directory.byteLength && directory.getUint32(place, true) === 0x02014b50;) {
    const [name, extra, comment] = [28, 30, 32].map((offset) => directory.getUint16(place + offset, true));
    const bytes = new Uint8Array(directory.buffer, place + 46, name);
    const numbers = [24, 20, 42].map((offset) => directory.getUint32(place + offset, true));
    const [, packed, header] = widened(numbers, directory, place + 46 + name, extra);
    const method = directory.getUint16(place + 10, true);
    entries.push({ name: new TextDecoder().decode(bytes), text: (most) => unpacked(file, header, packed, method, most) });
    place += 46 + name + extra + comment;
  }
  return entries;
}

// The numbers, those that do not fit into four bytes replaced by those of the extra field.
function widened(numbers, directory, from, length) {
  for (let place = from; place + 4 <= from + length; place += 4 + directory.getUint16(place + 2, true)) {
    if (directory.getUint16(place, true) !== 1) continue;
    let next = place + 4;
    return numbers.map((number) => {
      if (number !== 0xffff_ffff) return number;
      next += 8;
      return Number(directory.getBigUint64(next - 8, true));
    });
  }
  return numbers;
}

async function unpacked(file, header, packed, method, most) {
  const local = await view(file.slice(header, header + 30));
  const from = header + 30 + local.getUint16(26, true) + local.getUint16(28, true);
  let stream = file.slice(from, from + packed).stream();
  if (method === 8) stream = stream.pipeThrough(new DecompressionStream('deflate-raw'));
  else if (method !== 0) throw new RangeError('packed in another way');
  let size = 0;
  const bounded = new TransformStream({ transform(chunk, out) {
    size += chunk.byteLength;
    if (size > most) throw new RangeError('too large');
    out.enqueue(chunk);
  } });
  return new Response(stream.pipeThrough(bounded)).text();
}
