#!/usr/bin/env bash
# recipes/make_languages.sh FOLDER FILE: write the sentences of NTREX (newstest2019-*.LANGUAGE.txt in FOLDER) as rows
# TEXT<tab>CODE, with the two-letter codes that LibreTranslate uses. recipes/languages.toml trains on them.
set -euo pipefail
folder=$1 file=$2
codes="amh=am arb=ar ben=bn bul=bg ces=cs deu=de ell=el eng=en fas=fa fin=fi fra=fr heb=he hin=hi ita=it jpn=ja kat=ka khm=km
  kor=ko mar=mr mya=my nld=nl pol=pl por=pt rus=ru spa=es swa=sw swe=sv tam=ta tel=te tha=th tur=tr ukr=uk urd=ur vie=vi zho-CN=zh"
for pair in $codes; do
  for text in "$folder"/newstest2019-*."${pair%=*}".txt; do
    [[ -f $text ]] || continue
    awk -v code="${pair#*=}" '{ gsub(/[\t\r]/, " "); if (length($0) > 0) print $0 "\t" code }' "$text"
  done
done >"$file.part"
[[ -s $file.part ]] || { rm "$file.part"; echo "make_languages: no newstest2019-*.LANGUAGE.txt in $folder" >&2; exit 1; }
mv "$file.part" "$file"
