package tpch

import "strings"

// The words of the specification, chapter 4.2.2.13.
var (
	colours = strings.Fields(`almond antique aquamarine azure beige bisque black blanched blue blush brown burlywood
		burnished chartreuse chiffon chocolate coral cornflower cornsilk cream cyan dark deep dim
		dodger drab firebrick floral forest frosted gainsboro ghost goldenrod green grey honeydew hot
		indian ivory khaki lace lavender lawn lemon light lime linen magenta maroon medium metallic
		midnight mint misty moccasin navajo navy olive orange orchid pale papaya peach peru pink plum
		powder puff purple red rose rosy royal saddle salmon sandy seashell sienna sky slate smoke snow
		spring steel tan thistle tomato turquoise violet wheat white yellow`)
	types = [3][]string{
		strings.Fields("STANDARD SMALL MEDIUM LARGE ECONOMY PROMO"),
		strings.Fields("ANODIZED BURNISHED PLATED POLISHED BRUSHED"),
		strings.Fields("TIN NICKEL BRASS STEEL COPPER"),
	}
	containers = [2][]string{
		strings.Fields("SM LG MED JUMBO WRAP"), strings.Fields("CASE BOX BAG JAR PKG PACK CAN DRUM"),
	}
	segments     = strings.Fields("AUTOMOBILE BUILDING FURNITURE MACHINERY HOUSEHOLD")
	priorities   = []string{"1-URGENT", "2-HIGH", "3-MEDIUM", "4-NOT SPECIFIED", "5-LOW"}
	instructions = []string{"DELIVER IN PERSON", "COLLECT COD", "NONE", "TAKE BACK RETURN"}
	modes        = []string{"REG AIR", "AIR", "RAIL", "SHIP", "TRUCK", "MAIL", "FOB"}
	regions      = strings.Fields("AFRICA AMERICA ASIA EUROPE")
	nations      = []struct {
		name   string
		region int
	}{
		{"ALGERIA", 0}, {"ARGENTINA", 1}, {"BRAZIL", 1}, {"CANADA", 1}, {"EGYPT", 4}, {"ETHIOPIA", 0}, {"FRANCE", 3},
		{"GERMANY", 3}, {"INDIA", 2}, {"INDONESIA", 2}, {"IRAN", 4}, {"IRAQ", 4}, {"JAPAN", 2}, {"JORDAN", 4},
		{"KENYA", 0}, {"MOROCCO", 0}, {"MOZAMBIQUE", 0}, {"PERU", 1}, {"CHINA", 2}, {"ROMANIA", 3}, {"SAUDI ARABIA", 4},
		{"VIETNAM", 2}, {"RUSSIA", 3}, {"UNITED KINGDOM", 3}, {"UNITED STATES", 1},
	}
	// Of comments.
	words = strings.Fields(`accounts after again carefully deposits express final furiously ideas instructions ironic
		packages pending pinto quickly regular requests silent slyly special theodolites unusual`)
)

func init() { regions = append(regions, "MIDDLE EAST") }
